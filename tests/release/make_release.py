#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a scale model of a mixed image and video training release with the libraries that real ones are made with.

usage: make_release.py OUT

OUT/dataset is the tree of a dataset repo: six image parts that an earlier release brought, with their file lists, and a
release folder with the rest: 13 parquet inputs, a training cache saved by datasets.save_to_disk, a source tree, video
frames and an MP4, a Python runtime with absolute links, and release_manifest.json. OUT/model is the tree of a model
repo: a small sharded safetensors model. OUT/checkpoints is the tree of another one: the distributed checkpoints that
make_dcp.py made for tests/data/dcp. Row counts are those of the real release; rows, images and tensors are small.

Two runs give the same bytes: everything comes from SEED, archives carry given times, owners and an order.
The libraries' versions are pinned in requirements.txt.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

SEED = 42
RELEASE = "27b_mixed_lr1e5_clean338_20260918"
FROZEN = 1789689600  # 2026-09-18
RUNTIME = "qwen35_swift_megatron_sft_v1"

IMAGE_TRAIN = [9000, 8211, 7425, 6103, 5002, 4117, 2890, 1733, 1100, 522]  # 46,103 raw rows in ten sources
IMAGE_TRAIN_DROPPED = 19
VIDEO_TRAIN = 13499
IMAGE_VALIDATION = 5142
VIDEO_VALIDATION = 65

IMAGE_PARTS = 6
IMAGES_PER_PART = 700
VIDEOS = 12
FRAMES_PER_VIDEO = 24

CHECKPOINTS = Path(__file__).resolve().parent.parent / "data/dcp"

WORDS = ("the a of image frame video shows person street light red left right before after count which table tea cup "
         "morning window answer because therefore object behind near moving stops turns holds opens reads").split()


def rng(*name):
    """A generator for one thing, so that what is made before it does not matter."""
    return np.random.Generator(np.random.PCG64([SEED, zlib.crc32(repr(name).encode())]))


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def write_json(path, value):
    write(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


# --- media ---------------------------------------------------------------------------------------------------------


def picture(name, width, height):
    """A smooth scene with grain, about as compressible as a photograph."""
    from PIL import Image

    random = rng("picture", name)
    small = Image.fromarray(random.integers(0, 256, (height // 16, width // 16, 3), dtype=np.uint8))
    scene = np.asarray(small.resize((width, height), Image.Resampling.BICUBIC), dtype=np.int16)
    grain = random.integers(-14, 15, (height, width, 1), dtype=np.int16)
    return Image.fromarray(np.clip(scene + grain, 0, 255).astype(np.uint8))


def jpeg(name, width, height):
    out = io.BytesIO()
    picture(name, width, height).save(out, "JPEG", quality=85)
    return out.getvalue()


def image_path(part, n):
    return f"sft/images/source_{part:02d}/{n % 7:02d}/img_{part:03d}_{n:05d}.jpg"


def make_images(directory, part):
    random = rng("sizes", part)
    for n in range(IMAGES_PER_PART):
        width, height = (int(side) * 16 for side in random.integers(14, 36, 2))
        write(directory / image_path(part, n), jpeg((part, n), width, height))


def make_frames(directory, video):
    for n in range(FRAMES_PER_VIDEO):
        write(directory / f"media/sft/frames/video_{video:03d}/frame_{n:05d}.jpg", jpeg(("video", video, n), 320, 192))


def make_mp4(path):
    import imageio_ffmpeg

    path.parent.mkdir(parents=True, exist_ok=True)
    first, last = (np.asarray(picture(("mp4", end), 320, 192), dtype=np.float32) for end in (0, 1))
    frames = b"".join((first + (last - first) * t / 47).astype(np.uint8).tobytes() for t in range(48))
    subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "320x192",
                    "-r", "24", "-i", "-", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-threads", "1", "-fflags", "+bitexact",
                    "-flags:v", "+bitexact", "-movflags", "+faststart", "-y", str(path)], input=frames, check=True)


# --- data ----------------------------------------------------------------------------------------------------------


def sentences(random, rows, words):
    picked = random.integers(0, len(WORDS), (rows, words))
    return [" ".join(map(WORDS.__getitem__, row)) for row in picked.tolist()]


def make_parquet(path, kind, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = rng("parquet", path.name)
    if kind == "image":
        media = [[image_path(p, n)] for p, n in zip(random.integers(0, IMAGE_PARTS, rows).tolist(),
                                                    random.integers(0, IMAGES_PER_PART, rows).tolist())]
    else:
        media = [[f"sft/frames/video_{v:03d}/frame_{n:05d}.jpg" for n in range(4)]
                 for v in random.integers(0, VIDEOS, rows).tolist()]
    digest = [random.bytes(32).hex() for _ in range(rows)]
    table = pa.table({
        "id": [f"{path.stem}-{n}" for n in range(rows)],
        "question": sentences(random, rows, 24),
        "answer": sentences(random, rows, 60),
        "media": media,
        "media_sha256": digest,
    })
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="snappy", row_group_size=4096)


def make_inputs(directory):
    for n, rows in enumerate(IMAGE_TRAIN):
        make_parquet(directory / f"{n:02d}_image_train.parquet", "image", rows)
    make_parquet(directory / "10_image_validation.parquet", "image", IMAGE_VALIDATION)
    make_parquet(directory / "11_video_train.parquet", "video", VIDEO_TRAIN)
    make_parquet(directory / "12_video_validation.parquet", "video", VIDEO_VALIDATION)


def make_cache(directory, split, image_rows, video_rows):
    """Rows of an exported training cache. `length` is what it is at full size; input_ids are cut to a 32nd of it."""
    import datasets
    import pyarrow as pa

    random = rng("cache", split)
    is_video = np.zeros(image_rows + video_rows, dtype=bool)
    is_video[random.permutation(len(is_video))[:video_rows]] = True
    length = np.where(is_video, random.integers(2000, 32769, len(is_video)), random.integers(400, 20481, len(is_video)))
    cut = length // 32
    offsets = np.concatenate([[0], np.cumsum(cut)]).astype(np.int32)
    tokens = np.minimum(random.zipf(1.3, int(offsets[-1])), 151_000).astype(np.int32)
    labels = np.where(random.random(len(tokens)) < 0.7, -100, tokens).astype(np.int32)
    table = pa.table({
        "row": pa.array(random.permutation(len(is_video)).astype(np.int64)),
        "length": pa.array(length.astype(np.int32)),
        "is_video": pa.array(is_video),
        "input_ids": pa.ListArray.from_arrays(pa.array(offsets), pa.array(tokens)),
        "labels": pa.ListArray.from_arrays(pa.array(offsets), pa.array(labels)),
    })
    fingerprint = hashlib.sha256(f"{SEED} {split}".encode()).hexdigest()[:16]
    datasets.Dataset(datasets.table.InMemoryTable(table), fingerprint=fingerprint).save_to_disk(
        directory / split, max_shard_size="32MB")


def copy_sources(package, to):
    """The sources of an installed package; what its installation made is left out."""
    shutil.copytree(package, to, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "*.so"))


def make_bundle(directory):
    import datasets
    import huggingface_hub

    make_inputs(directory / "input_snapshot")
    exported = directory / "cache/exported"
    make_cache(exported, "train", sum(IMAGE_TRAIN) - IMAGE_TRAIN_DROPPED, VIDEO_TRAIN)
    make_cache(exported, "val", IMAGE_VALIDATION, VIDEO_VALIDATION)

    copy_sources(Path(datasets.__file__).parent, directory / "swift_src/swift")
    copy_sources(Path(huggingface_hub.__file__).parent, directory / "swift_src/hub")
    write(directory / "swift_src/swift/empty.py", "")
    portable = directory / "portable"
    write(portable / "environment.sh", "export TOKENIZERS_PARALLELISM=false\n")
    write(portable / "launch.sh", '#!/bin/bash\nexec torchrun --nnodes "$NNODES" --node_rank "$NODE_RANK" "$@"\n')
    write(portable / "check_env.py", "#!/usr/bin/env python3\nprint('ok')\n")
    write(portable / "README.md", "# How to launch\n\nEvery node dry-runs first, then starts exactly once.\n")
    write(portable / "说明.md", "# 启动说明\n")
    write(portable / ("a_long_name_" * 9) / ("that_needs_a_pax_header_" * 3 + ".json"), "{}\n")
    write_json(portable / "training_contract.json", {
        "tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 1, "global_batch_size": 64, "micro_batch_size": 1,
        "lr": 1e-5, "min_lr": 1e-6, "packing_length": 32768, "train_iters": 453, "seed": SEED, "data_seed": SEED})
    os.symlink("../swift_src/swift", portable / "swift")
    (directory / "empty_directory").mkdir()
    for script in ("launch.sh", "check_env.py"):
        (portable / script).chmod(0o755)
    (portable / "environment.sh").chmod(0o640)
    write_json(directory / "provenance/input_manifest.json", {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((directory / "input_snapshot").iterdir())})


# --- runtime -------------------------------------------------------------------------------------------------------


def copy_installed(package, site_packages):
    """An installed package and its record, without what depends on where and when it was installed."""
    import importlib.metadata

    distribution = importlib.metadata.distribution(package)
    for file in distribution.files:
        if ".." in file.parts or "__pycache__" in file.parts or file.name in ("REQUESTED", "RECORD", "direct_url.json"):
            continue
        to = site_packages / file
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(distribution.locate_file(file), to)
        to.chmod(0o755 if file.suffix == ".so" else 0o644)


def make_runtime(directory):
    """A virtual environment made for /tmp/RUNTIME: made beside it, then told that it lies there."""
    made = directory / RUNTIME
    final = f"/tmp/{RUNTIME}"
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys._base_executable
    subprocess.run([python, "-I", "-m", "venv", "--without-pip", "--symlinks", str(made)], check=True)
    for path in [made / "pyvenv.cfg", *(made / "bin").iterdir()]:
        if not path.is_symlink():
            path.write_bytes(path.read_bytes().replace(str(made).encode(), final.encode()))
    site_packages = next((made / "lib").glob("python3*")) / "site-packages"
    for package in ("numpy", "safetensors", "PyYAML", "packaging"):
        copy_installed(package, site_packages)
    tool = made / "bin/f2py"
    write(tool, f"#!{final}/bin/python3\nfrom numpy.f2py.f2py2e import main\nmain()\n")
    tool.chmod(0o755)
    os.link(tool, made / "bin/f2py3")
    os.symlink(f"{final}/bin/f2py", made / "bin/numpy-f2py")
    os.symlink("/usr/lib/x86_64-linux-gnu/libcuda.so.1", made / "lib/libcuda.so.1")  # the driver's, on the node


# --- model ---------------------------------------------------------------------------------------------------------


def make_model(directory):
    import safetensors

    hidden, layers, vocabulary = 256, 12, 4096
    shapes = {"model.language_model.embed_tokens.weight": (vocabulary, hidden)}
    for layer in range(layers):
        prefix = f"model.language_model.layers.{layer}."
        shapes |= {prefix + "self_attn.q_proj.weight": (hidden, hidden), prefix + "self_attn.o_proj.weight": (hidden, hidden),
                   prefix + "mlp.gate_proj.weight": (hidden * 3, hidden), prefix + "mlp.down_proj.weight": (hidden, hidden * 3),
                   prefix + "input_layernorm.weight": (hidden,)}
    shapes |= {"model.language_model.norm.weight": (hidden,), "lm_head.weight": (vocabulary, hidden)}

    shards, at = [{}], 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape))
        if at + size > 4_500_000:
            shards.append({})
            at = 0
        shards[-1][name] = shape
        at += size
    weight_map, total = {}, 0
    directory.mkdir(parents=True)
    for n, shard in enumerate(shards, 1):
        file = f"model-{n:05d}-of-{len(shards):05d}.safetensors"
        tensors, kept = {}, []
        for name, shape in shard.items():
            # bfloat16 is the upper half of float32.
            values = rng("tensor", name).normal(0, 0.02, shape).astype("<f4")
            half = np.ascontiguousarray((values.view("<u4") >> 16).astype("<u2"))
            kept.append(half)  # the spec holds only its address
            tensors[name] = safetensors.TensorSpec(
                dtype="bfloat16", shape=list(shape), data_ptr=half.ctypes.data, data_len=half.nbytes)
            weight_map[name] = file
            total += half.nbytes
        write(directory / file, safetensors.serialize(tensors, metadata={"format": "pt"}))
    write_json(directory / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))})
    write_json(directory / "config.json", {
        "architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "dtype": "bfloat16",
        "text_config": {"hidden_size": hidden, "num_hidden_layers": layers, "vocab_size": vocabulary,
                        "intermediate_size": hidden * 3, "max_position_embeddings": 262144}})
    write_json(directory / "generation_config.json", {"do_sample": True, "temperature": 0.6, "top_p": 0.95})
    tokens = [f"{a}{b}" for a in WORDS for b in WORDS]
    write_json(directory / "vocab.json", {token: n for n, token in enumerate(tokens)})
    write(directory / "merges.txt", "#version: 0.2\n" + "".join(f"{a} {b}\n" for a in WORDS for b in WORDS))
    write_json(directory / "tokenizer.json", {
        "version": "1.0", "added_tokens": [{"id": len(tokens), "content": "<|im_end|>", "special": True}],
        "model": {"type": "BPE", "vocab": {token: n for n, token in enumerate(tokens)}, "merges": []}})
    write_json(directory / "tokenizer_config.json", {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>"})
    write(directory / "chat_template.jinja", "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}")
    write(directory / "README.md", "---\nlicense: apache-2.0\n---\n# A small base model\n")
    write(directory / ".gitattributes", "*.safetensors filter=lfs diff=lfs merge=lfs -text\n")


# --- archives ------------------------------------------------------------------------------------------------------


def set_times(directory):
    """Each entry gets a time of its own, some with a fraction, directories after what is in them."""
    for at, names, files in os.walk(directory, topdown=False):
        for path in [os.path.join(at, name) for name in sorted(files + names)] + [at]:
            number = zlib.crc32(os.path.relpath(path, directory).encode())
            moment = (FROZEN - number % 20_000_000) * 1_000_000_000 + number % 3 * 250_000_000
            os.utime(path, ns=(moment, moment), follow_symlinks=False)


def pack(directory, archive, *options, format="posix"):
    """GNU tar and zstd, as people pack by hand."""
    set_times(directory)
    archive.parent.mkdir(parents=True, exist_ok=True)
    pax = ["--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"] if format == "posix" else []
    tar = subprocess.Popen(["tar", "--sort=name", "--owner=trainer:1005", "--group=trainer:1005", f"--format={format}", *pax,
                            "-C", str(directory), "-cf", "-", *sorted(os.listdir(directory))], stdout=subprocess.PIPE)
    subprocess.run(["zstd", "-q", "-f", *options, "-o", str(archive)], stdin=tar.stdout, check=True)
    if tar.wait():
        raise RuntimeError(f"tar: {archive}")


def pack_by_tarfile(directory, archive):
    """Python's tarfile, whose headers differ from GNU tar's, in two zstd frames."""
    set_times(directory)

    def owned(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.add(directory, arcname=".", filter=owned)  # tarfile sorts names itself
    content = plain.getvalue()
    archive.parent.mkdir(parents=True, exist_ok=True)
    half = len(content) // 2
    frames = [subprocess.run(["zstd", "-q", "-3", "-c"], input=piece, stdout=subprocess.PIPE, check=True).stdout
              for piece in (content[:half], content[half:])]
    archive.write_bytes(b"".join(frames))


# --- the release ---------------------------------------------------------------------------------------------------


def image_part(work, repo, part):
    directory = work / f"images_{part:03d}"
    make_images(directory, part)
    pack(directory, repo / f"morning_tea_sft_images_{part:03d}.tar.zst", "-3", format="gnu" if part % 2 else "posix")
    paths = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*.jpg"))
    write(repo / f"filelists/images_{part:03d}.list", "".join(f"{path}\n" for path in paths))


def additional_part(work, folder, part):
    directory = work / f"additional_{part:03d}"
    for video in range(part, VIDEOS, 2):
        make_frames(directory, video)
    if part == 0:
        make_mp4(directory / "media/sft/videos/video_000.mp4")
    pack_by_tarfile(directory, folder / f"media/additional_media_{part:03d}.tar.zst")


def bundle_part(work, folder):
    make_bundle(work / "bundle")
    pack(work / "bundle", folder / "sft_bundle.tar.zst", "-5", "--long=27")


def runtime_part(work, folder):
    (work / "runtime").mkdir()
    make_runtime(work / "runtime")
    pack(work / "runtime", folder / "environment/sft_runtime.tar.zst", "-3")


def file_facts(repo, path):
    content = (repo / path).read_bytes()
    return {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def manifest(repo, model):
    folder = f"releases/{RELEASE}"

    def part(name, path, **rest):
        return {"name": name, **file_facts(repo, path), **rest}

    media = {"unpack": {"root": "bundle", "under": "media"}, "tags": ["media", "images"]}
    return {
        "schema": "decant.release/1",
        "release": {"id": RELEASE},
        "roots": [{"name": "runtime", "suggest": "/tmp", "inside_bundle": False}],
        "parts": [
            part("sft_bundle", f"{folder}/sft_bundle.tar.zst", unpack={"root": "bundle", "under": ""}),
            *(part(f"images_{n:03d}", f"morning_tea_sft_images_{n:03d}.tar.zst", **media) for n in range(IMAGE_PARTS)),
            *(part(f"additional_media_{n:03d}", f"{folder}/media/additional_media_{n:03d}.tar.zst",
                   unpack={"root": "bundle", "under": ""}, tags=["media", "video"]) for n in range(2)),
            part("runtime", f"{folder}/environment/sft_runtime.tar.zst", unpack={"root": "runtime", "under": ""},
                 links="allow-external"),
            part("notes", f"{folder}/NOTES.md", place={"root": "bundle", "as": "NOTES.md"}),
        ],
        "trees": [
            {"name": "runtime", "root": "runtime", "under": RUNTIME},
            {"name": "swift-source", "root": "bundle", "under": "swift_src"},
            {"name": "base-model", "external": True, "from": {"repo": "sample/base", "repo_type": "model"},
             "files": [file_facts(model, path.name) for path in sorted(model.iterdir())]},
        ],
    }


def main():
    os.umask(0o022)
    out = Path(sys.argv[1]).absolute()
    shutil.rmtree(out, ignore_errors=True)
    repo, model = out / "dataset", out / "model"
    folder = repo / "releases" / RELEASE
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        os.environ.update(HF_HOME=str(work / "home"), HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1",
                          HF_DATASETS_DISABLE_PROGRESS_BARS="1", TZ="UTC", LC_ALL="C.UTF-8")
        with ProcessPoolExecutor() as pool:
            jobs = [pool.submit(bundle_part, work, folder), pool.submit(make_model, model),
                    *(pool.submit(image_part, work, repo, n) for n in range(IMAGE_PARTS)),
                    *(pool.submit(additional_part, work, folder, n) for n in range(2)),
                    pool.submit(runtime_part, work, folder)]
            for job in jobs:
                job.result()
    write(folder / "NOTES.md", "# Notes\n\nThe cache under cache/exported is what training reads; the parquet files are provenance.\n")
    write(repo / "README.md", "---\nlicense: other\n---\n# A sample of training data\n")
    write(repo / ".gitattributes", "*.zst filter=lfs diff=lfs merge=lfs -text\n")
    write_json(folder / "release_manifest.json", manifest(repo, model))
    shutil.copytree(CHECKPOINTS, out / "checkpoints", copy_function=shutil.copyfile)


if __name__ == "__main__":
    main()
