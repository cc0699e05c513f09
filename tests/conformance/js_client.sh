#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The official JavaScript client reads from our hub what we serve. It leaves '#' in URLs as it is, and asks for byte 0
# of an empty file too, which is 416; so neither is in the sample.
# usage: js_client.sh HUB WORK [DIRECTORY]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

command -v node > /dev/null || skip "no node"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
command -v npm > /dev/null || skip "no npm"
ODD=no set_up "$@"
if [ ! -d "$work/node_modules/@huggingface/hub" ]; then
  echo '{"private": true, "type": "module"}' > "$work/package.json"
  (cd "$work" && timeout 300 npm install --silent --no-fund --no-audit @huggingface/hub) > "$work/npm.log" 2>&1 \
    || skip "@huggingface/hub cannot be installed: $(tail -n 1 "$work/npm.log")"
fi
cp "$here/js_client.mjs" "$work/"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY

# fetch_by HOW TYPE REVISION TOKEN
fetch_by() {
  rm -rf "$scratch/got" "$scratch/cache"
  timeout 600 node "$work/js_client.mjs" "$HF_ENDPOINT" "$1" "$2" "$3" "$scratch/got" "$4" > "$scratch/out" 2>&1 \
    || { cat "$scratch/out"; fail "@huggingface/hub: $1 $2"; }
  same_tree "$sample" "$scratch/got" "@huggingface/hub: $1 $2 $3"
}

start_hub --repo org/name --dir "$sample"
if [ -n "${3:-}" ]; then # a large tree of one's own: once is enough
  fetch_by snapshot dataset "$COMMIT" ""
  exit 0
fi
fetch_by files dataset "$COMMIT" ""
fetch_by slices dataset main ""
fetch_by snapshot dataset main ""
stop_hub

start_hub --repo org/name --dir "$sample" --type model --xet --private --token hf_canary
fetch_by files model main hf_canary
stop_hub
no_token_at_cdn "private"
