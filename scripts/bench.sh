#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what people install and measures it beside what they run today. Installs what is missing (as root or with sudo).
#   sh scripts/bench.sh [ROUNDS]
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
# shellcheck disable=SC2086 # a list of packages
need $build_packages
need zstd python3 python3-venv util-linux aria2 curl openssl

cmake --preset release >/dev/null
cmake --build --preset release --target decant
cmake --preset dev >/dev/null
cmake --build --preset dev --target decant-test-hub
sh tests/release/sample.sh build/sample-release build/sample-venv
bash bench/fetch_bench.sh build/dev/tests/support/decant-test-hub build/release/src/decant "${1:-3}" build/sample-venv/bin/hf
bash bench/restore_bench.sh build/dev/tests/support/decant-test-hub build/release/src/decant build/sample-release \
  build/sample-venv "${1:-3}"
