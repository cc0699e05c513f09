#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a small release with nothing but tar, zstd, openssl and coreutils: a repo tree with two image parts, a data part,
# a runtime part with an absolute symlink, a placed file, and their release_manifest.json. Same bytes on every run.
#   sh tests/release/small.sh OUT [IMAGE_MIB]
set -eu
out=$1
mib=${2:-24}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
release=$out/releases/r1
mkdir -p "$release/environment" "$release/media"

# N bytes that do not compress, the same for the same name.
noise() { # NAME BYTES
  key=$(printf '%s' "$1" | sha256sum | cut -c1-32)
  openssl enc -aes-128-ctr -K "$key" -iv 00000000000000000000000000000000 -in /dev/zero 2>/dev/null | head -c "$2"
}
pack() { # DIRECTORY ARCHIVE
  tar --sort=name --mtime=@1790000000 --owner=0 --group=0 --numeric-owner --format=posix \
    --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime -C "$1" -cf - . | zstd -q -3 -f -o "$2"
}

mkdir -p "$work/data/input_snapshot" "$work/data/cache/exported/train" "$work/data/swift_src/swift" "$work/data/portable"
noise rows 3000000 >"$work/data/input_snapshot/00_image_train.parquet"
noise cache 5000000 >"$work/data/cache/exported/train/data-00000-of-00001.arrow"
echo '{"rows": 59583}' >"$work/data/cache/exported/train/state.json"
echo 'print("train")' >"$work/data/swift_src/swift/sft.py"
: >"$work/data/swift_src/swift/__init__.py"
printf '#!/bin/sh\nexec torchrun "$@"\n' >"$work/data/portable/launch.sh"
chmod 755 "$work/data/portable/launch.sh"
ln -s ../swift_src/swift "$work/data/portable/code"
pack "$work/data" "$release/sft_bundle.tar.zst"

for part in 000 001; do
  mkdir -p "$work/$part/sft/images"
  i=0
  while [ $i -lt $((mib * 8)) ]; do
    noise "$part-$i" 65000 >"$work/$part/sft/images/${part}_$i.jpg"
    i=$((i + 1))
  done
  pack "$work/$part" "$release/media/images_$part.tar.zst"
done

mkdir -p "$work/runtime/qwen_env/bin" "$work/runtime/qwen_env/lib/python3.11/site-packages"
ln -s /usr/bin/python3 "$work/runtime/qwen_env/bin/python"
echo 'home = /usr/bin' >"$work/runtime/qwen_env/pyvenv.cfg"
noise torch 2000000 >"$work/runtime/qwen_env/lib/python3.11/site-packages/torch.so"
pack "$work/runtime" "$release/environment/sft_runtime.tar.zst"

echo 'Continue at step 453.' >"$release/NOTES.md"

part() { # NAME PATH REST
  printf '  {"name": "%s", "path": "releases/r1/%s", "size": %s, "sha256": "%s", %s}' "$1" "$2" \
    "$(wc -c <"$release/$2")" "$(sha256sum <"$release/$2" | cut -d' ' -f1)" "$3"
}
{
  printf '{"schema": "decant.release/1",\n "release": {"id": "r1"},\n'
  printf ' "trees": [{"name": "runtime", "root": "runtime", "under": "qwen_env"},\n'
  printf '           {"name": "swift-source", "root": "bundle", "under": "swift_src"}],\n "parts": [\n'
  part data sft_bundle.tar.zst '"unpack": {"root": "bundle", "under": ""}'
  for n in 000 001; do
    printf ',\n'
    part images_$n media/images_$n.tar.zst '"unpack": {"root": "bundle", "under": "media"}, "tags": ["media"]'
  done
  printf ',\n'
  part runtime environment/sft_runtime.tar.zst '"unpack": {"root": "runtime", "under": ""}, "links": "allow-external"'
  printf ',\n'
  part notes NOTES.md '"place": {"root": "bundle", "as": "NOTES.md"}'
  printf '\n ]}\n'
} >"$release/release_manifest.json"
