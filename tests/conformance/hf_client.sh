#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The official Python client restores from our hub what we serve.
# usage: hf_client.sh HUB WORK [DIRECTORY]
set -euo pipefail
. "$(dirname "$0")/common.sh"

command -v python3 > /dev/null || skip "no python3"
set_up "$@"
hf=$work/venv/bin/hf
if [ ! -x "$hf" ]; then
  python3 -m venv "$work/venv" > "$work/venv.log" 2>&1 || skip "no venv module: $(tail -n 1 "$work/venv.log")"
  timeout 300 "$work/venv/bin/pip" install --quiet --retries 1 huggingface_hub > "$work/pip.log" 2>&1 \
    || skip "huggingface_hub cannot be installed: $(tail -n 1 "$work/pip.log")"
fi
echo "huggingface_hub $("$work/venv/bin/python" -c 'import huggingface_hub as h; print(h.__version__)')"

unset HF_TOKEN HUGGING_FACE_HUB_TOKEN HF_TOKEN_PATH HF_HUB_CACHE HUGGINGFACE_HUB_CACHE
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export HF_HOME=$scratch/home HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_UPDATE_CHECK=1
export HF_HUB_DISABLE_PROGRESS_BARS=1 NO_COLOR=1

# download NAME TYPE REVISION [REPO]
download() {
  timeout 600 "$hf" download "${4:-org/name}" --repo-type "$2" --revision "$3" --local-dir "$scratch/$1" \
    > "$scratch/out" 2>&1 || { cat "$scratch/out"; fail "hf download: $1"; }
  same_tree "$sample" "$scratch/$1" "hf download: $1"
}

# refused NAME WORDS: an answer that the client must put into its own words.
refused() {
  if timeout 120 "$hf" download org/name --repo-type dataset --revision "${3:-main}" --local-dir "$scratch/refused" \
    > "$scratch/out" 2>&1; then
    fail "hf download: $1: was not refused"
  fi
  grep -qiE "$2" "$scratch/out" || { cat "$scratch/out"; fail "hf download: $1: other words"; }
  echo "ok: hf download: $1"
}

start_hub --repo org/name --dir "$sample"
download "dataset by commit" dataset "$COMMIT"
if [ -n "${3:-}" ]; then exit 0; fi # a large tree of one's own: once is enough
download "dataset by branch" dataset main
refused "no such revision" "revision not found" 0123456789012345678901234567890123456789
HF_TOKEN=hf_wrong refused "invalid token" "invalid credentials|401|invalid.*token"
stop_hub
no_token_at_cdn "public"

start_hub --repo org/name --dir "$sample" --renamed-from old/other
download "renamed repo" dataset "$COMMIT" old/other
stop_hub

start_hub --type model --repo org/name --dir "$sample" --xet --resolve-cache
download "model in xet, small files by resolve-cache" model main
stop_hub

start_hub --repo org/name --dir "$sample" --gated --token hf_canary
HF_TOKEN=hf_canary download "gated" dataset main
refused "gated, no token" "restricted|gated|approval|denied"
stop_hub
no_token_at_cdn "gated"

start_hub --repo org/name --dir "$sample" --private --token hf_canary
refused "private, no token" "not found|private"
stop_hub

# It resumes after an early end; a reset it does not survive.
start_hub --repo org/name --dir "$sample" --lfs-min 1 --fault "cdn path=*.zst cut=fin cut_after=5000000" \
  --fault "cdn path=*limit* cut=fin cut_after=100000" --fault "cdn path=*limit* ignore_range"
download "cut connections" dataset main
stop_hub
