#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds decant and passes every test: unit, cli and conformance. Installs what is missing (as root or with sudo).
#   sh scripts/test.sh [CTEST ARGUMENT...]
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

# shellcheck disable=SC2086
need $build_packages
need git zstd libarchive-tools rsync strace curl ca-certificates openssl aria2 tinyproxy nginx-light python3 python3-jsonschema
need python3-venv xz-utils util-linux procps
# Node may come from elsewhere, with an npm that Debian's package would fight with.
command -v npm >/dev/null || need nodejs npm

cmake --preset dev
cmake --build --preset dev
ctest --preset dev -j "$(nproc)" "$@"
