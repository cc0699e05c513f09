#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# decant behind a real tinyproxy: HTTPS_PROXY and NO_PROXY, a proxy that wants a password, one that goes away half-way.
# The hub serves https as hub.test; a mount namespace of our own says that this is 127.0.0.1, so root is needed.
# usage: proxy.sh HUB DECANT
set -euo pipefail

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "failed: $*" >&2
  [ ! -s out ] || cat out >&2
  exit 1
}

if [ "${IN_NAMESPACE:-}" != yes ]; then
  command -v tinyproxy > /dev/null || skip "no tinyproxy"
  [ "$(id -u)" = 0 ] || skip "not root"
  unshare -m true 2> /dev/null || skip "no mount namespaces"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  IN_NAMESPACE=yes SCRATCH=$scratch unshare -m "$0" "$(realpath "$1")" "$(realpath "$2")"
  exit
fi

hub_program=$1
decant=$2
cd "$SCRATCH"
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
}
trap clean_up EXIT
{ cat /etc/hosts; echo "127.0.0.1 hub.test"; } > hosts
mount --bind hosts /etc/hosts

unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY HF_TOKEN_PATH HF_ENDPOINT
export HF_TOKEN=hf_canary0123456789 HOME=$SCRATCH/home
mkdir served tls
head -c 6000000 /dev/urandom > served/big.bin
echo small > served/small.txt
"$hub_program" --repo org/name --dir served --token "$HF_TOKEN" --gated --tls-host hub.test --tls-dir tls \
  --port-file ports --log log > /dev/null &
hub=$!
pids+=("$hub")
until [ -s ports ]; do
  kill -0 "$hub" || fail "the hub did not start"
  sleep 0.1
done
HF_ENDPOINT=$(sed -n 's/^HF_ENDPOINT=//p' ports)
export HF_ENDPOINT SSL_CERT_FILE=$SCRATCH/tls/ca.pem

start_proxy() { # NAME PORT LINE…: its log is NAME.log
  local name=$1 port=$2
  shift 2
  printf '%s\n' "Port $port" "Listen 127.0.0.1" "Timeout 60" "LogFile \"$SCRATCH/$name.log\"" "LogLevel Connect" \
    "Allow 127.0.0.1" "$@" > "$name.conf"
  tinyproxy -d -c "$name.conf" > /dev/null 2>&1 &
  proxy=$!
  pids+=("$proxy")
  until (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do
    kill -0 "$proxy" || fail "$name did not start"
    sleep 0.1
  done
}
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
restore() { # EXPECTED-CODE DIR OPTION…: output in `out`
  local code=0
  "$decant" restore org/name --loose --bundle "$2" --progress plain -v "${@:3}" > out 2>&1 || code=$?
  [ "$code" = "$1" ] || fail "exit code $code instead of $1"
  ! grep -q "hf_canary\|proxypass" out || fail "a secret in the output"
  ! grep -rq "hf_canary\|proxypass" "$2" 2> /dev/null || fail "a secret in a file"
}
same() {
  diff -r --exclude=.decant --exclude=restore_lock.json served "$1" || fail "$2: the trees differ"
  echo "ok: $2"
}
connects() { grep -c "CONNECT hub.test" "$1.log" || true; }

port=$(free_port)
start_proxy plain "$port"
for name in HTTPS_PROXY https_proxy ALL_PROXY; do
  before=$(connects plain)
  (export "$name=http://127.0.0.1:$port"; restore 0 "by_$name")
  same "by_$name" "$name is honoured"
  [ "$(connects plain)" -gt "$before" ] || fail "$name: nothing went through the proxy"
done
before=$(connects plain)
(export HTTPS_PROXY="http://127.0.0.1:$port" NO_PROXY=hub.test; restore 0 by_no_proxy)
same by_no_proxy "NO_PROXY is honoured"
[ "$(connects plain)" = "$before" ] || fail "NO_PROXY: something went through the proxy"

wanting=$(free_port)
start_proxy wanting "$wanting" "BasicAuth user proxypass"
(export HTTPS_PROXY="http://127.0.0.1:$wanting"; restore 5 refused)
grep -q "the proxy refused" out || fail "407: not said"
echo "ok: a proxy that wants a password is exit 5"
(export HTTPS_PROXY="http://user:proxypass@127.0.0.1:$wanting"; restore 0 with_password -v)
same with_password "a proxy's password is used and not shown"

dying=$(free_port)
start_proxy dying "$dying"
export HTTPS_PROXY="http://127.0.0.1:$dying"
"$decant" restore org/name --loose --bundle half --progress none --limit-rate 2M > out 2>&1 &
run=$!
pids+=("$run")
until [ "$(du -sk half 2> /dev/null | cut -f1)" -gt 1500 ] 2> /dev/null; do
  kill -0 "$run" || fail "it ended too early"
  sleep 0.05
done
kill "$proxy"
wait "$proxy" 2> /dev/null || true
sleep 1
kill -0 "$run" || fail "a proxy that goes away ends the run at once"
start_proxy dying "$dying"
wait "$run" || fail "it did not go on when the proxy was back"
same half "a proxy that goes away half-way costs waits"
