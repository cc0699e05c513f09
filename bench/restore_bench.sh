#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wall time of restoring the sample release over loopback and of verifying it, beside what people run today, in turn on
# the same machine: A and B by turns in each round, the median of all rounds. Trees are compared before anything counts.
# usage: restore_bench.sh HUB DECANT SAMPLE VENV [ROUNDS]
set -euo pipefail
export LC_ALL=C.UTF-8
hub_program=$1
decant=$2
dataset=$(cd "$3" && pwd)/dataset
model=$(cd "$3" && pwd)/model
hf=$(cd "$4" && pwd)/bin/hf
rounds=${5:-3}
release=releases/27b_mixed_lr1e5_clean338_20260918

place=${BENCH_DIR:-}
if [ -z "$place" ]; then
  place=/tmp
  [ "$(df --output=avail -m /dev/shm 2> /dev/null | tail -n 1)" -gt 4000 ] 2> /dev/null && place=/dev/shm
fi
scratch=$(mktemp -d "$place/decant-bench.XXXXXX")
hub=
clean_up() {
  [ -z "$hub" ] || kill "$hub" 2> /dev/null || true
  rm -rf "$scratch"
}
trap clean_up EXIT
unset HF_TOKEN HF_TOKEN_PATH HF_HUB_CACHE http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export HF_HOME=$scratch/home HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_PROGRESS_BARS=1
export HF_HUB_DISABLE_UPDATE_CHECK=1
cd "$scratch"
"$hub_program" --repo sample/sft --dir "$dataset" --port-file ports > /dev/null &
hub=$!
until [ -s ports ]; do
  kill -0 "$hub"
  sleep 0.1
done
HF_ENDPOINT=$(sed -n 's/^HF_ENDPOINT=//p' ports)
export HF_ENDPOINT

(cd "$dataset" && find . -name '*.tar.zst' -type f -print0 | xargs -0 sha256sum) > parts.sha256

today_restore() {
  "$hf" download sample/sft --repo-type dataset --local-dir today/download > /dev/null
  (cd today/download && sha256sum --quiet -c ../../parts.sha256)
  mkdir -p today/bundle/media today/runtime
  local d=today/download
  for part in "$d/$release"/sft_bundle.tar.zst "$d/$release"/media/*.tar.zst; do
    tar -I 'zstd --long=27' -x --no-same-owner -f "$part" -C today/bundle
  done
  for part in "$d"/morning_tea_sft_images_*.tar.zst; do tar -I zstd -x --no-same-owner -f "$part" -C today/bundle/media; done
  tar -I zstd -x --no-same-owner -f "$d/$release/environment/sft_runtime.tar.zst" -C today/runtime
  cp "$d/$release/NOTES.md" today/bundle/
}
decant_restore() {
  "$decant" restore sample/sft --release "$release" --bundle decant/bundle --runtime-root decant/runtime \
    --download-cache decant/cache --progress none --quiet > /dev/null
}
today_verify() { sha256sum --quiet -c files.sha256; }
today_verify_all_cores() { xargs -a files.sha256 -d '\n' -P "$(nproc)" -n 500 sh -c 'printf "%s\n" "$@" | sha256sum --quiet -c' sh; }
decant_verify() {
  "$decant" verify --bundle decant/bundle --base-model "$model" --hash-media --progress none --quiet > /dev/null
}

clock() { # NAME: its seconds go to NAME.times
  local from to
  from=$(date +%s%N)
  "$1"
  to=$(date +%s%N)
  echo $(((to - from) / 1000000)) >> "$1.times"
}
median() { sort -n "$1.times" | sed -n "$((($(wc -l < "$1.times") + 1) / 2))p"; }

for round in $(seq "$rounds"); do
  rm -rf today decant
  clock today_restore
  clock decant_restore
  if [ "$round" = 1 ]; then
    diff -r --no-dereference --exclude=.decant --exclude=restore_lock.json today/bundle decant/bundle
    diff -r --no-dereference today/runtime decant/runtime
    (find today/bundle today/runtime -type f -print0; find "$model" -type f -print0) | sort -z | xargs -0 sha256sum \
      | sed 's|  today/|  decant/|' > files.sha256
  fi
  clock today_verify
  clock today_verify_all_cores
  clock decant_verify
done

row() { # WHAT TODAY OURS
  awk -v what="$1" -v today="$(median "$2")" -v ours="$(median "$3")" \
    'BEGIN { printf "| %s | %.2f s | %.2f s | %.2f |\n", what, today / 1000, ours / 1000, ours / today }'
}
# shellcheck disable=SC2016 # backquotes are for Markdown
{
  echo "| job | today | decant | decant / today |"
  echo "|---|---|---|---|"
  row 'restore: `hf download && sha256sum -c && tar -I zstd -x`' today_restore decant_restore
  row 'verify every byte: `sha256sum -c`' today_verify decant_verify
  row 'verify every byte: `xargs -P sha256sum -c`' today_verify_all_cores decant_verify
}
echo
echo "$(wc -l < files.sha256) files, $(cut -c67- files.sha256 | xargs -d '\n' stat -c %s | awk '{ n += $1 } END { printf "%d", n / 1e6 }') MB;" \
  "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
  "$(grep -oEw 'sha_ni|avx2|avx512f' /proc/cpuinfo | sort -u | tr '\n' ' ')on $(df --output=fstype "$scratch" | tail -n 1);" \
  "median of $rounds, $(date -u +%Y-%m-%d), load $(cut -d' ' -f1 /proc/loadavg)"
