#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds decant and passes every test: unit, cli and conformance. Installs what is missing (as root or with sudo).
#   sh scripts/test.sh [CTEST ARGUMENT...]
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

# shellcheck disable=SC2086
need $build_packages
need git zstd libarchive-tools rsync strace curl ca-certificates openssl aria2 python3 python3-venv nodejs npm xz-utils util-linux procps

cmake --preset dev
cmake --build --preset dev
ctest --preset dev -j "$(nproc)" "$@"
