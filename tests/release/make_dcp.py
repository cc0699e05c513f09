#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a small PyTorch distributed checkpoint, as training writes it, for tests/data/dcp.

usage: make_dcp.py OUT          (needs torch and numpy, for instance: python3 -m venv V && V/bin/pip install torch numpy)

Torch is far too large to install in a test: this is to be run once and what it writes committed, which is still to be
done. Two ranks save model and
optimizer together: OUT/iter_0000002/__RANK_N.distcp and .metadata, written by torch; and beside them, as the training
code of real checkpoints adds them, extra_state/extra_state_rank_RANK.pt and lance_checkpoint.json, and above
latest_checkpointed_iteration.txt.
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

RANKS = 2


def save(rank, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["DCP_PORT"])
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    torch.manual_seed(42)
    state = {}
    for layer in range(2):
        for name, shape in (("attention.weight", (32, 32)), ("mlp.weight", (64, 32))):
            value = distribute_tensor(torch.randn(shape, dtype=torch.bfloat16), mesh, [Shard(0)])
            state[f"model.layers.{layer}.{name}"] = value
            for moment in ("exp_avg", "exp_avg_sq"):
                state[f"optimizer.state.{moment}.model.layers.{layer}.{name}"] = distribute_tensor(
                    torch.rand(shape), mesh, [Shard(0)])
    state["model.norm.weight"] = distribute_tensor(torch.ones(32, dtype=torch.bfloat16), mesh, [Replicate()])
    state["optimizer.step"] = 2
    dcp.save(state, storage_writer=dcp.FileSystemWriter(out, single_file_per_rank=True, thread_count=1, sync_files=False))
    extra = Path(out) / "extra_state"
    extra.mkdir(exist_ok=True)
    torch.save({"rng": torch.get_rng_state()[:16], "lr": 1e-5}, extra / f"extra_state_rank_{rank}.pt")
    dist.destroy_process_group()


def main():
    out = Path(sys.argv[1])
    checkpoint = out / "iter_0000002"
    checkpoint.mkdir(parents=True)
    os.environ.setdefault("DCP_PORT", "29511")
    mp.spawn(save, args=(str(checkpoint),), nprocs=RANKS)
    (checkpoint / "lance_checkpoint.json").write_text(json.dumps({
        "iteration": 2, "consumed_train_tokens": 131072, "consumed_train_samples": 128, "status": "completed"}, indent=1) + "\n")
    (out / "latest_checkpointed_iteration.txt").write_text("2")


if __name__ == "__main__":
    main()
