# SPDX-License-Identifier: Apache-2.0
# Sourced by the conformance scripts: a test hub over a directory, and trees compared byte for byte.
# Arguments of every script: HUB (the decant-test-hub program), WORK (a directory that is kept, for what is
# installed), and a directory to serve (else a small one with odd names is made).

skip() {
  echo "skipped: $*"
  exit 77
}

fail() {
  echo "failed: $*" >&2
  exit 1
}

set_up() {
  hub_program=$1
  work=$2
  mkdir -p "$work"
  scratch=$(mktemp -d)
  hub_pid=
  trap clean_up EXIT
  if [ -n "${3:-}" ]; then
    sample=$(cd "$3" && pwd)
  else
    sample=$scratch/sample
    make_sample "$sample"
  fi
}

clean_up() {
  stop_hub
  rm -rf "$scratch"
}

# Odd names, an empty file, nested directories, more files than a page holds, and files around the LFS limit.
# ODD=no leaves out what a client is known not to be able to do.
make_sample() {
  mkdir -p "$1/releases/r1/deep/er" "$1/many"
  echo "# sample" > "$1/README.md"
  for i in $(seq 30); do echo "file $i" > "$1/many/$i.txt"; done
  head -c 1000 /dev/urandom > "$1/releases/r1/small.bin"
  head -c 1048576 /dev/urandom > "$1/releases/r1/deep/er/limit.bin"
  head -c 12000000 /dev/urandom > "$1/releases/r1/part_000.tar.zst"
  [ "${ODD:-yes}" = no ] && return
  : > "$1/empty"
  echo space > "$1/releases/r1/with space.txt"
  echo percent > "$1/releases/r1/100%25 sure.txt"
  echo hash > "$1/releases/r1/a#b.txt"
  echo plus > "$1/releases/r1/a+b&c=d;e,f.txt"
  echo utf8 > "$1/releases/r1/größe-数据-é.txt"
  head -c 2000000 /dev/urandom > "$1/releases/r1/big #1 %41 ü.bin"
}

# start_hub OPTION…: sets HF_ENDPOINT and COMMIT. Listings come in small pages.
start_hub() {
  rm -f "$scratch/ports"
  "$hub_program" --page-size 7 --port-file "$scratch/ports" --log "$scratch/log" "$@" > "$scratch/hub.out" &
  hub_pid=$!
  for _ in $(seq 600); do
    [ -e "$scratch/ports" ] && break
    kill -0 "$hub_pid" 2> /dev/null || fail "the hub did not start"
    sleep 0.1
  done
  HF_ENDPOINT=$(sed -n 's/^HF_ENDPOINT=//p' "$scratch/ports")
  COMMIT=$(sed -n 's/^COMMIT=//p' "$scratch/ports" | head -n 1)
  [ -n "$HF_ENDPOINT" ] || fail "the hub told no address"
  export HF_ENDPOINT
}

# Afterwards $scratch/log holds what was asked.
stop_hub() {
  [ -n "$hub_pid" ] || return 0
  kill "$hub_pid" 2> /dev/null || true
  wait "$hub_pid" || fail "the hub ended with an error"
  hub_pid=
}

# Every path, and every byte; what clients keep for themselves is left out.
same_tree() {
  diff -r --exclude=.cache "$1" "$2" || fail "$3: the trees differ"
  echo "ok: $3"
}

no_token_at_cdn() {
  ! grep '"listener":"cdn"' "$scratch/log" | grep -q '"authorization":true' || fail "$1: the CDN got a token"
}
