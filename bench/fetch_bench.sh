#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wall time of fetching two files from the test hub, beside other downloaders, by turns on the same machine, the median of
# all rounds: from a hub that is limited per connection and in total, and from one that is not, where the digest counts.
# What each tool brought is compared with what is served before its time counts.
# usage: fetch_bench.sh HUB DECANT [ROUNDS] [HF]        HF: the `hf` program, else that row is left out
set -euo pipefail
export LC_ALL=C.UTF-8
hub_program=$1
decant=$2
rounds=${3:-3}
hf=${4:-}
limited_mb=${LIMITED_MB:-160} free_mb=${FREE_MB:-800}
per_connection=8 total=80 # MB/s

place=${BENCH_DIR:-}
if [ -z "$place" ]; then
  place=/tmp
  [ "$(df --output=avail -m /dev/shm 2> /dev/null | tail -n 1)" -gt $((4 * free_mb)) ] 2> /dev/null && place=/dev/shm
fi
scratch=$(mktemp -d "$place/decant-bench.XXXXXX")
hub=
clean_up() {
  stop_hub
  rm -rf "$scratch"
}
stop_hub() {
  [ -z "$hub" ] || { kill "$hub" 2> /dev/null || true; wait "$hub" 2> /dev/null || true; }
  hub=
}
trap clean_up EXIT
unset HF_TOKEN HF_TOKEN_PATH HF_HUB_CACHE http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export HF_HOME=$scratch/home HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_PROGRESS_BARS=1
export HF_HUB_DISABLE_UPDATE_CHECK=1
cd "$scratch"

serve() { # MB OPTION…: two files of half as many MB each
  rm -rf served ports served.sha256
  mkdir served
  for name in a b; do head -c $(($1 * 500000)) /dev/urandom > served/$name.bin; done
  (cd served && sha256sum ./*.bin) > served.sha256
  "$hub_program" --repo bench/files --dir served --port-file ports "${@:2}" > /dev/null &
  hub=$!
  until [ -s ports ]; do
    kill -0 "$hub"
    sleep 0.1
  done
  HF_ENDPOINT=$(sed -n 's/^HF_ENDPOINT=//p' ports)
  export HF_ENDPOINT
  url=$HF_ENDPOINT/datasets/bench/files/resolve/$(sed -n 's/^COMMIT=//p' ports)
}

by_decant() {
  "$decant" fetch bench/files --loose --download-cache out/cache --progress none --quiet > /dev/null
}
by_aria2c() { aria2c -q -x16 -s16 -k1M -j2 -d out -Z "$url/a.bin" "$url/b.bin"; }
by_aria2c_and_sha256sum() {
  by_aria2c
  (cd out && sha256sum --quiet -c ../served.sha256)
}
by_aria2c_and_openssl() {
  by_aria2c
  (cd out && openssl dgst -sha256 a.bin b.bin > /dev/null)
}
by_curl() { curl -sfL --create-dirs -o out/a.bin "$url/a.bin" -o out/b.bin "$url/b.bin"; }
by_hf() { "$hf" download bench/files --repo-type dataset --local-dir out > /dev/null; }

check() { # what NAME brought
  if [ "$1" = by_decant ]; then
    while read -r hex name; do cmp "out/cache/sha256/${hex:0:2}/$hex" "served/$name"; done < served.sha256
  else
    (cd out && sha256sum --quiet -c ../served.sha256)
  fi
}
clock() { # NAME: its milliseconds go to NAME.times
  local from to
  rm -rf out
  mkdir out
  from=$(date +%s%N)
  "$1"
  to=$(date +%s%N)
  check "$1"
  echo $(((to - from) / 1000000)) >> "$1.times"
}
median() { sort -n "$1.times" | sed -n "$((($(wc -l < "$1.times") + 1) / 2))p"; }
row() { # NAME WORDS
  awk -v words="$2" -v its="$(median "$1")" -v ours="$(median by_decant)" \
    'BEGIN { printf "| %s | %.2f s | %.2f |\n", words, its / 1000, ours / its }'
}
measure() { # NAME…
  rm -f ./*.times
  for _ in $(seq "$rounds"); do
    for name in "$@"; do clock "$name"; done
  done
}

tools=(by_decant by_aria2c by_curl)
[ -z "$hf" ] || tools+=(by_hf)
serve "$limited_mb" --rate "${per_connection}000000" --total-rate "${total}000000"
measure "${tools[@]}"
line=$(awk -v mb="$limited_mb" -v rate=$total 'BEGIN { print mb / rate }')
echo "$limited_mb MB in two files, $per_connection MB/s a connection, $total MB/s in all: the line needs $line s"
echo
# shellcheck disable=SC2016 # backquotes are for Markdown
{
  echo "| tool | time | decant / tool |"
  echo "|---|---|---|"
  row by_decant '`decant fetch`, every byte hashed'
  row by_aria2c '`aria2c -x16 -s16`, not hashed'
  [ -z "$hf" ] || row by_hf '`hf download`, not hashed'
  row by_curl '`curl`, not hashed'
}
stop_hub

serve "$free_mb"
measure by_decant by_aria2c_and_sha256sum by_aria2c_and_openssl by_curl
echo
echo "$free_mb MB in two files, unlimited loopback"
echo
# shellcheck disable=SC2016
{
  echo "| tool | time | decant / tool |"
  echo "|---|---|---|"
  row by_decant '`decant fetch`, every byte hashed'
  row by_aria2c_and_sha256sum '`aria2c -x16 -s16 && sha256sum -c`'
  row by_aria2c_and_openssl '`aria2c -x16 -s16 && openssl dgst`'
  row by_curl '`curl`, not hashed'
}
echo
echo "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
  "$(df --output=fstype "$scratch" | tail -n 1), median of $rounds, $(date -u +%Y-%m-%d), load $(cut -d' ' -f1 /proc/loadavg)"
