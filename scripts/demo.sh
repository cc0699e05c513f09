#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job on a small release, served by a local hub: plan, a restore killed half-way, restore again, verify, one byte
# flipped, verify names it, put right. Installs what is missing (as root or with sudo); needs no account.
#   sh scripts/demo.sh [DIRECTORY]      (default: build/demo; an earlier demo there is made anew)
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
# shellcheck disable=SC2086
need $build_packages
need zstd openssl procps

cmake --preset dev >/dev/null
cmake --build --preset dev --target decant decant-test-hub
PATH=$PWD/build/dev/src:$PWD/build/dev/tests/support:$PATH

demo=${1:-build/demo}
case $demo in /*) ;; *) demo=$PWD/$demo ;; esac
# Nothing is removed but an earlier demo.
if [ -e "$demo" ] && [ ! -e "$demo/.demo" ] && [ -n "$(ls -A "$demo")" ]; then
  echo "demo: $demo holds something else; name an empty directory" >&2
  exit 2
fi
rm -rf "$demo"
mkdir -p "$demo"
: >"$demo/.demo"
export HF_HOME="$demo/no-account" # nobody's token is used
unset HF_TOKEN HF_TOKEN_PATH DECANT_BUNDLE DECANT_DOWNLOAD_CACHE 2>/dev/null || true

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
run() {
  printf '$ %s\n' "$*" | sed "s|$demo|DEMO|g"
  code=0
  "$@" || code=$?
  printf '(exit %s)\n' "$code"
}
expect() { [ "$code" -eq "$1" ] || { echo "demo: expected exit $1, got $code" >&2; exit 1; }; }

say 'A release of five parts, on a local hub'
sh tests/release/small.sh "$demo/repo"
decant-test-hub --repo demo/release --type dataset --dir "$demo/repo" --total-rate 8000000 --port-file "$demo/hub" >"$demo/hub.log" 2>&1 &
hub=$!
trap 'kill $hub 2>/dev/null || true' EXIT
until [ -s "$demo/hub" ]; do
  kill -0 $hub || { cat "$demo/hub.log" >&2; exit 1; }
  sleep 0.1
done
HF_ENDPOINT=$(sed -n 's/^HF_ENDPOINT=//p' "$demo/hub")
export HF_ENDPOINT

set -- demo/release --release releases/r1 --bundle "$demo/bundle" --runtime-root "$demo/tmp"

say 'The plan: nothing is written'
run decant restore "$@" --plan-only
expect 0
[ ! -e "$demo/bundle" ]

say 'Restore, killed with SIGKILL half-way'
printf '$ decant restore ... & kill -9\n'
decant restore "$@" --progress none &
restore=$!
# Half-way: a good part of the release has landed in the cache.
until [ "$(du -sm "$demo/bundle/.decant/cache" 2>/dev/null | cut -f1)" -ge 17 ] 2>/dev/null; do
  kill -0 $restore 2>/dev/null || break
  sleep 0.05
done
kill -9 $restore 2>/dev/null || true
wait $restore 2>/dev/null || true
run ls -A "$demo/bundle"

say 'What is there now'
run decant status --bundle "$demo/bundle"
expect 3

say 'The same line again: it goes on where it was'
run decant restore "$@"
expect 0
run ls "$demo/bundle"

say 'Verify: every byte against the release'
run decant verify --bundle "$demo/bundle" --hash-media
expect 0

say 'One byte of one image flips'
victim=$demo/bundle/media/sft/images/001_7.jpg
printf '\125' | dd of="$victim" bs=1 seek=4242 conv=notrunc status=none
run decant verify --bundle "$demo/bundle" --hash-media
expect 1

say 'Put right: remove the damaged file, bring it back, verify'
run rm "$victim"
run decant restore "$@" --reextract
expect 0
run decant verify --bundle "$demo/bundle" --hash-media
expect 0

say 'A second restore: nothing to do, no connection'
kill $hub
run decant restore "$@"
expect 0
say "Done. Everything lies in ${demo#"$PWD"/}"
