#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The sample release, made with the real libraries, through plan, restore and verify; judged by tar, bsdtar, sha256sum,
# diff and the official client.
# usage: sample_release.sh HUB DECANT SAMPLE VENV
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
export LC_ALL=C.UTF-8

command -v zstd > /dev/null || skip "no zstd"
sh "$here/../release/sample.sh" "$3" "$4"
decant=$2
venv=$(cd "$4" && pwd)
set_up "$1" "$venv" "$3"
# shellcheck disable=SC2154 # both are set_up's
export sample scratch
dataset=$sample/dataset
release=releases/27b_mixed_lr1e5_clean338_20260918
unset HF_TOKEN HUGGING_FACE_HUB_TOKEN HF_TOKEN_PATH HF_HUB_CACHE HUGGINGFACE_HUB_CACHE
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
unset DECANT_BUNDLE DECANT_DOWNLOAD_CACHE DECANT_RUNTIME_ROOT DECANT_ENDPOINT
export HF_HOME=$scratch/home HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_UPDATE_CHECK=1
export HF_HUB_DISABLE_PROGRESS_BARS=1 NO_COLOR=1
cd "$scratch"

# run NAME COMMAND…: exit 0, and less than 256 MiB at its peak.
run() {
  local name=$1
  shift
  python3 - "$@" > "$name.out" 2> "$name.err" << 'PYTHON' || { cat "$name.out" "$name.err"; fail "$name"; }
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(f"peak {peak} KiB", file=sys.stderr)
sys.exit(code or (99 if peak >= 256 * 1024 else 0))
PYTHON
  echo "ok: $name ($(tail -n 1 "$name.err"))"
}
hf_download() {
  timeout 600 "$venv/bin/hf" download "$@" > hf.out 2>&1 || { cat hf.out; fail "hf download $*"; }
}

# What decant keeps for itself is no content.
contents() { (cd "$1" && find . -mindepth 1 \( -path ./.decant -o -path ./restore_lock.json \) -prune -o "${@:2}"); }

# Type, x bit of files, whole seconds of files and directories, link target, path.
facts() {
  contents "$1" \( -type d -printf 'd - %T@ - %P\n' -o -type l -printf 'l - - %l %P\n' \
    -o -perm -u+x -printf 'f x %T@ - %P\n' -o -printf 'f - %T@ - %P\n' \) \
    | sed -E 's/^(. . [0-9]+)\.[0-9]+/\1/' | LC_ALL=C sort
}
same_facts() { # EXPECTED GOT NAME TOOL
  # bsdtar gives no time to a directory that another archive made.
  local times='s/^$/&/'
  [ "$4" = bsdtar ] && times='s/^d - [0-9]+/d - 0/'
  diff <(facts "$1" | sed -E "$times" | sort) <(facts "$2" | sed -E "$times" | sort) > facts.diff || { head -n 20 facts.diff; fail "$3: types, links, x bits or times differ"; }
  diff -r --no-dereference --exclude=.decant --exclude=restore_lock.json "$1" "$2" || fail "$3: the content differs"
  echo "ok: $3: content, types, links, x bits and times are equal"
}

# decant.tree/1, by find, sort and sha256sum.
tree_digest() {
  local tab=$'\t'
  (
    cd "$1"
    contents . -type f -printf '%P\n' | tr '\n' '\0' | xargs -0 -r sha256sum | sed "s/  /$tab/" > "$scratch/hashes"
    contents . -type f \( -perm -u+x -printf 'f 1 %s\n' -o -printf 'f 0 %s\n' \) | paste -d "$tab" - "$scratch/hashes"
    contents . -type d -printf "d 0 0$tab-$tab%P\n"
    contents . -type l -printf '%P\n' | while IFS= read -r link; do
      printf 'l 0 0\t%s\t%s\n' "$(readlink -n "$link" | sha256sum | cut -d' ' -f1)" "$link"
    done
  ) | LC_ALL=C sort -t "$tab" -k3 | tr '\t' ' ' | escape | sha256sum | cut -d' ' -f1
}
# The path is the fifth field; bytes below 0x21, above 0x7e and the backslash as \xHH.
escape() {
  LC_ALL=C awk 'BEGIN { for (n = 0; n < 256; n++) hex[sprintf("%c", n)] = sprintf("\\x%02x", n) }
    { at = length($1 $2 $3 $4) + 4; line = substr($0, 1, at)
      for (n = at + 1; n <= length($0); n++) {
        c = substr($0, n, 1)
        line = line ((c < "!" || c > "~" || c == "\\") ? hex[c] : c)
      }
      print line }'
}
expect_digest() { # FILE NAME DIGEST
  grep -o "\"$2\": \"full:[0-9a-f]*\"" "$1" | grep -q "full:$3" || fail "$2: decant says other than sha256sum's $3"
  echo "ok: digest of $2 is what find, sort and sha256sum give"
}

start_hub --repo sample/sft --dir "$dataset" --type dataset --repo sample/base --dir "$sample/model" --type model
line=(sample/sft --release "$release" --bundle "$scratch/bundle" --runtime-root "$scratch/runtime")

run plan "$decant" plan "${line[@]}"
if [ -e bundle ] || [ -e runtime ]; then fail "plan: wrote something"; fi
run restore "$decant" restore "${line[@]}"

# The same by tar, and by bsdtar.
by() { # TOOL DIRECTORY ARCHIVE
  mkdir -p "$2"
  case $1 in
    tar) zstd -dcq --long=27 "$3" | tar -x --no-same-owner -C "$2" ;;
    bsdtar) bsdtar -x --no-same-owner -f "$3" -C "$2" ;;
  esac
}
for tool in tar bsdtar; do
  command -v $tool > /dev/null || { echo "left out: no $tool"; continue; }
  by $tool $tool.bundle "$dataset/$release/sft_bundle.tar.zst"
  for part in "$dataset"/morning_tea_sft_images_*.tar.zst; do by $tool $tool.bundle/media "$part"; done
  for part in "$dataset/$release"/media/*.tar.zst; do by $tool $tool.bundle "$part"; done
  by $tool $tool.runtime "$dataset/$release/environment/sft_runtime.tar.zst"
  cp -p "$dataset/$release/NOTES.md" $tool.bundle/
  touch -r bundle/NOTES.md $tool.bundle/NOTES.md # a placed file has no time of its own
  # Several parts bring this directory, with different times.
  touch -r bundle/media/sft $tool.bundle/media/sft
  same_facts $tool.bundle bundle "$tool, bundle" $tool
  same_facts $tool.runtime runtime "$tool, runtime" $tool
  rm -rf $tool.bundle $tool.runtime
done

# The base model as the official client keeps it: links to blobs.
HF_HUB_CACHE=$scratch/hub_cache hf_download sample/base
snapshot=$(echo hub_cache/models--sample--base/snapshots/*)
[ -L "$snapshot/config.json" ] || fail "the client's cache holds no links"
run verify "$decant" verify --bundle bundle --base-model "$snapshot" --hash-media --json
grep -q 'verified, every byte hashed' verify.out || fail "verify: another verdict"
tail -n 1 verify.out > summary
cp -rL "$snapshot" model_files
find bundle/swift_src -name __pycache__ | grep -q . && fail "the source tree has generated files"
bundle_digest=$(tree_digest bundle)
runtime_digest=$(tree_digest runtime)
model_digest=$(tree_digest model_files)
expect_digest summary bundle "$bundle_digest"
expect_digest summary runtime "$runtime_digest"
expect_digest summary runtime "$(tree_digest runtime/qwen35_swift_megatron_sft_v1)"
expect_digest summary swift-source "$(tree_digest bundle/swift_src)"
expect_digest summary base-model "$model_digest"
expect_digest summary bundle_digest "$(printf 'base-model %s\nbundle %s\nruntime %s\n' "$model_digest" "$bundle_digest" \
  "$runtime_digest" | sha256sum | cut -d' ' -f1)"
rm -rf model_files

# Loose files: what the official client puts into a directory.
run "restore the model" "$decant" restore sample/base --repo-type model --bundle model
hf_download sample/base --local-dir model_by_hf
same_loose() { # EXPECTED GOT NAME
  diff -r --exclude=.cache --exclude=.decant --exclude=restore_lock.json "$1" "$2" || fail "$3: the trees differ"
  echo "ok: $3"
}
same_loose model_by_hf model "loose files are what hf download gives"

# Again, with the hub gone: no connection, and nothing written.
stop_hub
[ -s log ] || fail "the hub logged nothing"
snapshot_of_all() { find bundle runtime -printf '%i %T@ %C@ %s %p\n' | LC_ALL=C sort; }
snapshot_of_all > before
run "second restore" "$decant" restore "${line[@]}"
snapshot_of_all | diff before - > /dev/null || fail "the second restore wrote something"
echo "ok: a second restore opens no connection and writes nothing"

# Distributed checkpoints, as torch and Megatron write them: all of them, and one.
start_hub --repo sample/checkpoints --dir "$sample/checkpoints" --type model --lfs-min 16K
hf_download sample/checkpoints --local-dir checkpoints_by_hf
checkpoints=(sample/checkpoints --repo-type model)
run "restore the checkpoints" "$decant" restore "${checkpoints[@]}" --bundle checkpoints
run "restore one checkpoint" "$decant" restore "${checkpoints[@]}" --bundle checkpoint --only 'iter_0000002/**'
stop_hub
run verify_checkpoints "$decant" verify --bundle checkpoints --hash-media --json
grep -q 'verified, every byte hashed' verify_checkpoints.out || fail "verify: another verdict"
same_loose "$sample/checkpoints" checkpoints "checkpoints are what torch and Megatron wrote"
same_loose checkpoints_by_hf checkpoints "checkpoints are what hf download gives"
mkdir one
cp -r "$sample/checkpoints/iter_0000002" one/
same_loose one checkpoint "one checkpoint, with its .metadata, and nothing else"
