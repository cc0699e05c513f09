# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: need PACKAGE... installs what is missing, as root or through sudo.

need() {
  missing=
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
  done
  [ -z "$missing" ] && return 0
  echo "installing:$missing"
  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "error: these packages are missing and sudo is not there:$missing" >&2; return 1; }
    as_root=sudo
  fi
  # A package list may be old: refresh it once, and only when something is missing.
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

build_packages="g++ cmake ninja-build pkg-config libcurl4-openssl-dev libzstd-dev libarchive-dev libssl-dev
nlohmann-json3-dev libcli11-dev catch2 libfmt-dev"

# A compiler cache is used where there is one, never asked for.
if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
