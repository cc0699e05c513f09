#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real nginx as a mirror: over a cache that decant filled, and over a repo tree; and the cache of the real hf.
# usage: nginx_mirror.sh HUB DECANT WORK [HF]
set -euo pipefail
. "$(dirname "$0")/common.sh"

decant=$2
nginx=$(PATH=$PATH:/usr/sbin:/sbin command -v nginx) || skip "no nginx"
for tool in tar zstd sha256sum curl; do command -v $tool > /dev/null || skip "no $tool"; done
mkdir -p "$3"
HF=${4:-}
set_up "$1" "$3" "$3"
nginx_pid=
clean_up() {
  [ -z "$nginx_pid" ] || kill "$nginx_pid" 2> /dev/null || true
  stop_hub
  rm -rf "$scratch"
}
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY DECANT_FROM HF_TOKEN_PATH HF_HOME
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE XDG_CACHE_HOME
export HOME=$scratch/home HF_TOKEN=hf_canary

# A release: an archive of several ranges, and a file with an odd name.
repo=$scratch/repo
folder="releases/r 1 #%ü"
mkdir -p "$repo/$folder" "$scratch/content/tree/deep"
head -c 9000000 /dev/urandom > "$scratch/content/tree/deep/big.bin"
echo small > "$scratch/content/tree/small.txt"
tar -C "$scratch/content" -cf - tree | zstd -q -o "$repo/$folder/data.tar.zst"
echo "notes" > "$repo/$folder/notes & more.md"
facts() { printf '"path": "%s", "size": %s, "sha256": "%s"' "$1" "$(stat -c %s "$repo/$1")" "$(sha256sum "$repo/$1" | cut -d' ' -f1)"; }
cat > "$repo/$folder/release_manifest.json" << END
{"schema": "decant.release/1", "release": {"id": "r1"}, "parts": [
 {"name": "data", $(facts "$folder/data.tar.zst"), "unpack": {"root": "bundle", "under": ""}},
 {"name": "notes", $(facts "$folder/notes & more.md"), "place": {"root": "bundle", "as": "notes.md"}}]}
END
sample=$repo

# start_nginx DIRECTORY: sets MIRROR; $scratch/access.log tells what was asked.
start_nginx() {
  stop_nginx
  mkdir -p "$scratch/nginx"
  for _ in $(seq 20); do
    port=$((20000 + RANDOM % 20000))
    cat > "$scratch/nginx/conf" << END
daemon off;
pid $scratch/nginx/pid;
error_log $scratch/nginx/error.log;
events {}
http {
  log_format asked '"\$request" \$status "\$http_authorization"';
  access_log $scratch/access.log asked;
  client_body_temp_path $scratch/nginx/body;
  proxy_temp_path $scratch/nginx/proxy;
  fastcgi_temp_path $scratch/nginx/fastcgi;
  uwsgi_temp_path $scratch/nginx/uwsgi;
  scgi_temp_path $scratch/nginx/scgi;
  server { listen 127.0.0.1:$port; root $1; }
}
END
    [ "$(id -u)" -ne 0 ] || sed -i '1i user root;' "$scratch/nginx/conf"
    : > "$scratch/access.log"
    "$nginx" -p "$scratch/nginx" -c "$scratch/nginx/conf" > "$scratch/nginx/out" 2>&1 &
    nginx_pid=$!
    for _ in $(seq 100); do
      curl -s -o /dev/null "http://127.0.0.1:$port/" && break
      kill -0 "$nginx_pid" 2> /dev/null || break
      sleep 0.1
    done
    if kill -0 "$nginx_pid" 2> /dev/null; then
      MIRROR=http://127.0.0.1:$port
      : > "$scratch/access.log"
      return 0
    fi
  done
  cat "$scratch/nginx/out" >&2
  fail "nginx did not start"
}
stop_nginx() {
  [ -n "$nginx_pid" ] || return 0
  kill "$nginx_pid" 2> /dev/null || true
  wait "$nginx_pid" || true
  nginx_pid=
}

# restored NAME BUNDLE
restored() {
  ! grep -q canary "$scratch/access.log" || fail "$1: the mirror got the token"
  diff -r "$scratch/content/tree" "$2/tree" || fail "$1: the trees differ"
  cmp "$repo/$folder/notes & more.md" "$2/notes.md" || fail "$1: the notes differ"
  echo "ok: $1"
}
run() {
  "$decant" "$@" > "$scratch/out" 2>&1 || {
    cat "$scratch/out"
    fail "decant $*"
  }
}
nothing_from_hub() {
  ! grep '"listener":"cdn"' "$scratch/log" | grep -q . || fail "$1: bytes came from the hub"
}

start_hub --gated --token hf_canary --repo org/name --dir "$repo"
run fetch org/name --release "$folder" --download-cache "$scratch/cache"
stop_hub

start_nginx "$scratch/cache"
start_hub --gated --token hf_canary --repo org/name --dir "$repo"
run restore org/name --release "$folder" --bundle "$scratch/one" --from "$MIRROR"
stop_hub
restored "nginx over a cache" "$scratch/one"
nothing_from_hub "nginx over a cache"
grep -q "from $MIRROR" "$scratch/out" || fail "the summary does not name the mirror"
grep -q 'GET /sha256/.* 206 ' "$scratch/access.log" || fail "no range was asked for by digest"
! grep -q ' 404 ' "$scratch/access.log" || fail "something was asked for in vain"

start_nginx "$repo"
start_hub --gated --token hf_canary --repo org/name --dir "$repo"
run restore org/name --release "$folder" --bundle "$scratch/two" --from "$MIRROR"
stop_hub
restored "nginx over a repo tree" "$scratch/two"
nothing_from_hub "nginx over a repo tree"
[ "$(grep -c ' 404 ' "$scratch/access.log")" -le 2 ] || fail "the mirror's form was not remembered"

: > "$scratch/access.log"
run restore "$MIRROR" --release "$folder" --bundle "$scratch/three"
restored "nginx as SOURCE" "$scratch/three"
rm -r "$scratch/three/tree" "$scratch/three/.decant/cache"
run restore --bundle "$scratch/three"
restored "nginx as SOURCE, by the lock" "$scratch/three"
stop_nginx

if [ -n "$HF" ] && [ -x "$HF" ]; then
  start_hub --gated --token hf_canary --repo org/name --dir "$repo" --lfs-min 1000
  HF_HUB_CACHE=$scratch/hub HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_UPDATE_CHECK=1 \
    timeout 300 "$HF" download org/name --repo-type dataset > "$scratch/hf.out" 2>&1 || { cat "$scratch/hf.out"; fail "hf download"; }
  HF_HUB_DISABLE_XET=1 timeout 300 "$HF" download org/name --repo-type dataset --local-dir "$scratch/local" > "$scratch/hf.out" 2>&1 \
    || { cat "$scratch/hf.out"; fail "hf download --local-dir"; }
  stop_hub
  start_hub --gated --token hf_canary --repo org/name --dir "$repo" --lfs-min 1000
  HF_HUB_CACHE=$scratch/hub run restore org/name --release "$folder" --bundle "$scratch/four" --from hf-cache
  run restore org/name --release "$folder" --bundle "$scratch/five" --from "$scratch/local"
  stop_hub
  restored "the cache of the real hf" "$scratch/four"
  restored "the local-dir of the real hf" "$scratch/five"
  nothing_from_hub "the cache of the real hf"
else
  echo "left out: no hf (it comes with the test of the Python client)"
fi
