#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sample release: made once by make_release.py, and again only when that script, its libraries
# or the checkpoints changed.
# Exits with 77, and says why, where it cannot be made.
#   sh tests/release/sample.sh [OUT [VENV]]      (default: build/sample-release and build/sample-venv)
# OUT then holds dataset/, model/ and checkpoints/, the trees of three repos.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../build/sample-release}
venv=${2:-$here/../../build/sample-venv}
for program in tar zstd sha256sum flock; do
  command -v "$program" >/dev/null || { echo "skipped: no $program"; exit 77; }
done
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
exec 9>"$out.lock" # several tests want it at one time; nobody touches $out before
flock 9
stamp=$({
  cat "$here/make_release.py" "$here/requirements.txt"
  cd "$here/../data/dcp" && find . -type f -exec sha256sum {} + | LC_ALL=C sort
} | sha256sum | cut -d' ' -f1)
[ "$(cat "$out/stamp" 2>/dev/null)" != "$stamp" ] || exit 0
if [ -e "$out" ] && [ ! -f "$out/stamp" ] && [ -n "$(ls -A "$out")" ]; then
  echo "sample: $out holds something else" >&2
  exit 2
fi
sh "$here/venv.sh" "$venv" 9>&-
rm -rf "$out" "$out.making"
"$venv/bin/python" -I "$here/make_release.py" "$out.making" 9>&-
echo "$stamp" >"$out.making/stamp"
mv -T "$out.making" "$out"
