#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small PyTorch distributed checkpoints in tests/data/dcp: what was committed there came from

  python3 -m venv V && V/bin/pip install torch==2.15.0 numpy==2.4.6 packaging==26.4 megatron-core==0.16.1 psutil==7.2.2
  V/bin/python make_dcp.py OUT          (Python 3.11, on a machine without GPU)

Torch is far too large to install in a test, so this is run by hand, and its output committed.

OUT/iter_0000002 is what two ranks save that trained a model with fully_shard for two steps; torch writes .metadata,
__RANK_THREAD.distcp and, by torch.save, extra_state/extra_state_rank_RANK.pt. OUT/checkpoint-2/iter_0000002 is what
Megatron's dist_checkpointing saves of a GPT split over two ranks; it writes .metadata, __RANK_PROCESS.distcp, common.pt
and metadata.json. A training loop adds lance_checkpoint.json, or latest_checkpointed_iteration.txt: here this script does.

Two runs give the same bytes. Left to themselves torch and Megatron would put three things into .metadata that differ
from run to run: an identifier of the save, the directory as it was given, and the order in which writers finished. The
first is fixed here, the second is relative, the third is sorted. Another kind of processor may round values otherwise.
"""

import json
import os
import socket
import sys
import uuid
from pathlib import Path

os.environ |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint import filesystem
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

SEED = 42
RANKS = 2
THREADS = 2
STEPS = 2
BATCH, LENGTH, VOCABULARY, HIDDEN = 4, 16, 32, 17  # 17 rows do not split evenly


def make_repeatable():
    """Takes out of .metadata what would differ from run to run."""
    filesystem._generate_uuid = lambda: str(uuid.UUID(int=SEED))
    finish = filesystem._FileSystemWriter.finish

    def finish_sorted(self, metadata, results):
        for written in results:
            written.sort(key=lambda item: (item.storage_data.relative_path, item.storage_data.offset))
        finish(self, metadata, results)

    filesystem._FileSystemWriter.finish = finish_sorted


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(HIDDEN)
        self.up = torch.nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.down = torch.nn.Linear(2 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.up(self.norm(x))))


def save_fully_sharded(rank, directory):
    torch.manual_seed(SEED)
    model = torch.nn.Sequential(torch.nn.Embedding(VOCABULARY, HIDDEN), Block(), torch.nn.Linear(HIDDEN, VOCABULARY, bias=False))
    mesh = init_device_mesh("cpu", (RANKS,))
    for part in (model[1], model):
        fully_shard(part, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(SEED + rank)
    for _ in range(STEPS):
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH + 1))
        loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model_state, optimizer_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=directory, storage_writer=dcp.FileSystemWriter(
        directory, single_file_per_rank=True, thread_count=THREADS, sync_files=False))
    extra = Path(directory) / "extra_state"
    extra.mkdir(exist_ok=True)
    torch.save({"seed": torch.initial_seed(), "lr": optimizer.param_groups[0]["lr"]}, extra / f"extra_state_rank_{rank}.pt")
    if rank == 0:
        samples = STEPS * BATCH * RANKS
        (Path(directory) / "lance_checkpoint.json").write_text(json.dumps({
            "iteration": STEPS, "consumed_train_tokens": samples * LENGTH, "consumed_train_samples": samples,
            "status": "completed"}, indent=1) + "\n")


def save_megatron(rank, directory):
    # These two are all that keeps the save from running without a GPU; neither changes what is written.
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.current_device = lambda: "cpu"
    from megatron.core import dist_checkpointing, parallel_state
    from megatron.core.dist_checkpointing.mapping import ShardedObject
    from megatron.core.dist_checkpointing.optimizer import (
        get_param_id_to_sharded_param_map, make_sharded_optimizer_tensor, optim_state_to_sharding_state)
    from megatron.core.dist_checkpointing.strategies.torch import TorchDistSaveShardedStrategy
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.transformer import TransformerConfig

    parallel_state.initialize_model_parallel(tensor_model_parallel_size=RANKS)
    torch.manual_seed(SEED)
    config = TransformerConfig(
        num_layers=2, hidden_size=8, num_attention_heads=2, ffn_hidden_size=16, normalization="RMSNorm",
        add_bias_linear=False, tensor_model_parallel_size=RANKS, use_cpu_initialization=True, bf16=True,
        params_dtype=torch.bfloat16)
    model = GPTModel(config, get_gpt_layer_local_spec(normalization="RMSNorm"), vocab_size=VOCABULARY, max_sequence_length=LENGTH,
                     position_embedding_type="rope", share_embeddings_and_output_weights=True).bfloat16()
    # A bf16 optimizer keeps fp32 copies of what it trains, and nothing of what is frozen. The gradients are random.
    parameters = [parameter for name, parameter in model.named_parameters() if "mlp" not in name]
    copies = [torch.nn.Parameter(parameter.detach().float()) for parameter in parameters]
    optimizer = torch.optim.AdamW(copies, lr=1e-3)
    torch.manual_seed(SEED + rank)
    for _ in range(STEPS):
        for copy in copies:
            copy.grad = torch.randn_like(copy)
        optimizer.step()
    for parameter, copy in zip(parameters, copies):
        parameter.data.copy_(copy)

    model_state = model.sharded_state_dict()
    sharded = get_param_id_to_sharded_param_map(model_state, parameters)
    optimizer_state = {"optimizer": optimizer.state_dict(), "fp32_from_fp16_params": [[
        make_sharded_optimizer_tensor(sharded[n], copy, prefix="optimizer.state.fp32_param") for n, copy in enumerate(copies)]]}
    optim_state_to_sharding_state(optimizer_state["optimizer"], sharded, exclude_keys="step")
    optimizer_state["optimizer"]["state"]["common_step"] = STEPS
    state = {
        "iteration": STEPS, "checkpoint_version": 3.0, "model": model_state, "optimizer": optimizer_state,
        "rng_state": ShardedObject("rng_state", [{"torch_rng_state": torch.get_rng_state()}], (RANKS,), (rank,)),
    }
    dist_checkpointing.save(state, directory, TorchDistSaveShardedStrategy("torch_dist", 1, thread_count=THREADS))
    if rank == 0:
        (Path(directory).parent / "latest_checkpointed_iteration.txt").write_text(str(STEPS))


def run(rank, save, out, directory, port):
    os.chdir(out)
    os.umask(0o022)
    make_repeatable()
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    save(rank, directory)
    dist.barrier()  # neither leaves while the other still talks to it
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    out = Path(sys.argv[1]).absolute()
    for save, directory in ((save_fully_sharded, f"iter_{STEPS:07d}"), (save_megatron, f"checkpoint-{STEPS}/iter_{STEPS:07d}")):
        (out / directory).mkdir(parents=True)
        mp.spawn(run, args=(save, str(out), directory, free_port()), nprocs=RANKS)


if __name__ == "__main__":
    main()
