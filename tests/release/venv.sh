#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the virtual environment that make_release.py runs in, or keeps it when it is that of requirements.txt already.
# Exits with 77, and says why, where that cannot be done.
#   sh tests/release/venv.sh VENV
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$1
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
cmp -s "$here/requirements.txt" "$venv/requirements.txt" && exit 0
if [ -e "$venv" ] && [ ! -f "$venv/pyvenv.cfg" ] && [ -n "$(ls -A "$venv")" ]; then
  echo "venv: $venv holds something else" >&2
  exit 2
fi
rm -rf "$venv"
mkdir -p "$(dirname "$venv")"
log=$venv.log
why() { echo "skipped: $1: $(tail -n 1 "$log")"; exit 77; }
python3 -m venv "$venv" >"$log" 2>&1 || why 'no venv module'
timeout "${VENV_TIMEOUT:-900}" "$venv/bin/pip" install --quiet --retries 1 -r "$here/requirements.txt" >"$log" 2>&1 ||
  why 'the libraries cannot be installed'
cp "$here/requirements.txt" "$venv/requirements.txt"
