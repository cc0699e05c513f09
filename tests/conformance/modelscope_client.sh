#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ModelScope's own client restores from our hub what we serve in ModelScope's words.
# usage: modelscope_client.sh HUB WORK [DIRECTORY]
set -euo pipefail
. "$(dirname "$0")/common.sh"

command -v python3 > /dev/null || skip "no python3"
set_up "$@"
modelscope=$work/venv/bin/modelscope
if [ ! -x "$modelscope" ]; then
  python3 -m venv "$work/venv" > "$work/venv.log" 2>&1 || skip "no venv module: $(tail -n 1 "$work/venv.log")"
  timeout 300 "$work/venv/bin/pip" install --quiet --retries 1 modelscope > "$work/pip.log" 2>&1 \
    || skip "modelscope cannot be installed: $(tail -n 1 "$work/pip.log")"
fi
echo "modelscope $("$work/venv/bin/pip" list 2> /dev/null | sed -n 's/^modelscope  *//p')"

unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY MODELSCOPE_API_TOKEN
# Its cookies go to every port of a host, so only the header is looked for at the CDN.
export HOME=$scratch/home MODELSCOPE_CACHE=$scratch/cache MODELSCOPE_DOWNLOAD_INTRA_CLOUD=false
mkdir -p "$HOME"

# It keeps notes of its own beside the files.
without_notes() { rm -rf "$1/.msc" "$1/.mv" "$1/._____temp" "$1/.mdl" "$1/.cache"; }

# download NAME model|dataset
download() {
  timeout 600 "$modelscope" download "--$2" org/name --local_dir "$scratch/$1" > "$scratch/out" 2>&1 \
    || { cat "$scratch/out"; fail "modelscope download: $1"; }
  without_notes "$scratch/$1"
  same_tree "$sample" "$scratch/$1" "modelscope download: $1"
}

# refused NAME WORDS
refused() {
  if timeout 120 "$modelscope" download --model org/name --local_dir "$scratch/refused" > "$scratch/out" 2>&1; then
    fail "modelscope download: $1: was not refused"
  fi
  grep -qiE "$2" "$scratch/out" || { cat "$scratch/out"; fail "modelscope download: $1: other words"; }
  echo "ok: modelscope download: $1"
}

for type in model dataset; do
  start_hub --type "$type" --repo org/name --dir "$sample"
  export MODELSCOPE_ENDPOINT=$HF_ENDPOINT
  download "$type" "$type"
  stop_hub
  no_token_at_cdn "$type"
done

start_hub --type model --repo org/name --dir "$sample" --private --token ms-canary
export MODELSCOPE_ENDPOINT=$HF_ENDPOINT
refused "private, no token" "not found|record|exist"
MODELSCOPE_API_TOKEN=ms-canary download "private" model
stop_hub
no_token_at_cdn "private"
