#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# curl and aria2c read from our hub what we serve: redirects, ranges, many connections, resumption.
# usage: plain_clients.sh HUB WORK [DIRECTORY]
set -euo pipefail
. "$(dirname "$0")/common.sh"

command -v curl > /dev/null || skip "no curl"
set_up "$@"
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

file=$(cd "$sample" && find . -type f -size +1k -printf '%s %P\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
size=$(stat -c %s "$sample/$file")
same() {
  cmp "$1" "$2" || fail "$3: the bytes differ"
  echo "ok: $3"
}
encode() { od -An -v -tx1 "$@" | tr -d '\n' | sed 's/ /%/g; s/%2f/\//g'; }

start_hub --repo org/name --dir "$sample" --gated --token hf_canary
url=$HF_ENDPOINT/datasets/org/name/resolve/$COMMIT/$(printf %s "$file" | encode)
auth=(-H "Authorization: Bearer hf_canary")
curl -sfL "${auth[@]}" "$url" -o "$scratch/whole" || fail "curl -L"
same "$sample/$file" "$scratch/whole" "curl -L"

half=$((size / 2))
curl -sfL "${auth[@]}" -r "0-$((half - 1))" "$url" -o "$scratch/a" || fail "curl, first half"
curl -sfL "${auth[@]}" -r "$half-" "$url" -o "$scratch/b" || fail "curl, second half"
cat "$scratch/a" "$scratch/b" > "$scratch/joined"
same "$sample/$file" "$scratch/joined" "curl, two ranges"
curl -sfL "${auth[@]}" -r -100 "$url" -o "$scratch/tail" || fail "curl, last 100 bytes"
tail -c 100 "$sample/$file" > "$scratch/tail.expected"
same "$scratch/tail.expected" "$scratch/tail" "curl, last 100 bytes"
code=$(curl -sL "${auth[@]}" -r "$size-" -o /dev/null -D "$scratch/head" -w '%{http_code}' "$url")
[ "$code" = 416 ] || fail "curl past the end: $code"
grep -qi "^content-range: bytes \*/$size" "$scratch/head" || fail "curl past the end: no Content-Range"
echo "ok: curl past the end"
head -c 1000 "$sample/$file" > "$scratch/resumed"
curl -sfL "${auth[@]}" -C - "$url" -o "$scratch/resumed" || fail "curl -C -"
same "$sample/$file" "$scratch/resumed" "curl -C -"
code=$(curl -s -o /dev/null -w '%{http_code}' "$url")
[ "$code" = 401 ] || fail "no token: $code"
code=$(curl -s --location-trusted "${auth[@]}" -o /dev/null -w '%{http_code}' "$url")
[ "$code" = 400 ] || fail "a token at the CDN: $code"
echo "ok: curl with and without a token"
stop_hub

if command -v aria2c > /dev/null; then
  start_hub --repo org/name --dir "$sample" --fault "cdn path=*$(basename "$file" | encode) skip=2 cut_after=1000"
  url=$HF_ENDPOINT/datasets/org/name/resolve/$COMMIT/$(printf %s "$file" | encode)
  timeout 120 aria2c -q -x8 -s8 -k1M --retry-wait=1 --check-certificate=false -d "$scratch" -o by_aria "$url" \
    || fail "aria2c -x8"
  same "$sample/$file" "$scratch/by_aria" "aria2c -x8, one connection cut"
  stop_hub
else
  echo "left out: no aria2c"
fi
