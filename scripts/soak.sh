#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The long counts: restores killed with SIGKILL at 1,000 random moments, and every call of a whole restore stopped and
# failed; eight processes on one cache, SHARED_ROUNDS (default 100) times with file locks and as often without. Resumable:
# run again, it goes on after the last kills that passed; a new SEED begins anew.
#   sh scripts/soak.sh [KILLS [SEED]]        (default: 1000 kills, a new seed; DECANT_BUILD names the build directory)
set -eu
cd "$(dirname "$0")/.."
kills=${1:-1000}
build=${DECANT_BUILD:-build/dev}
program=$build/tests/survival/test_survival
if [ -z "${DECANT_BUILD:-}" ]; then
  cmake --preset dev >/dev/null
  cmake --build --preset dev --target test_survival decant
fi
[ -x "$program" ] || { echo "soak: no $program" >&2; exit 2; }

state=$build/soak
if [ $# -ge 2 ] && [ "$(sed -n 's/^seed //p' "$state" 2>/dev/null)" != "$2" ]; then
  printf 'seed %s\nkills 0\n' "$2" >"$state"
fi
if [ ! -s "$state" ]; then
  printf 'seed %s\nkills 0\n' "$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')" >"$state"
fi
seed=$(sed -n 's/^seed //p' "$state")
made=$(sed -n 's/^kills //p' "$state")
echo "soak: seed $seed, $made of $kills kills done before"

# Two cases of 25 kills each a round, each round with a seed of its own.
while [ "$made" -lt "$kills" ]; do
  export DECANT_SEED=$((seed + made))
  if ! "$program" 'a restore*killed at random moments*' >"$state.log" 2>&1; then
    cat "$state.log" >&2
    echo "soak: failed after $made kills; again with: DECANT_SEED=$DECANT_SEED $program 'a restore*killed at random moments*'" >&2
    exit 1
  fi
  made=$((made + 50))
  printf 'seed %s\nkills %s\n' "$seed" "$made" >"$state.new"
  mv "$state.new" "$state"
  echo "soak: $made kills"
done

DECANT_SEED=$seed DECANT_SOAK=25 DECANT_STRIDE=1 "$program" '*at any call*,*any call failed*,*again and again*'
DECANT_SEED=$seed DECANT_SOAK=${SHARED_ROUNDS:-100} "$program" 'eight processes on one cache*'
rm -f "$state"
echo "soak: passed, seed $seed"
