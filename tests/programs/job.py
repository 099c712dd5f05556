"""One rank of a job, started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: `job.py ddp|fsdp|pipeline|workers`.

Five steps with a dump after each but the first; what it knows itself goes to TRUTH_DIR as RANK.json. Rank 2 keeps
what the others free.
"""

import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn

import libtensorscope

KEPT = 1 << 20  # elements that rank 2 keeps in a step
STEPS = 5
kept = []
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def made_model(blocks=2, width=64):
    torch.manual_seed(0)
    return nn.Sequential(*(Block(width) for _ in range(blocks)))


def collect(step):
    if rank == 2:
        kept.append(torch.full((KEPT,), float(step)))


def local_bytes(tensors):
    """Of each storage once; of a DTensor its part of this rank."""
    storages = {}
    for tensor in tensors:
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        storage = local.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def train(model, optimizer, batch):
    for step in range(1, STEPS + 1):
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        collect(step)
        if step > 1:
            say(model, optimizer)
        optimizer.zero_grad()


def say(model, optimizer, **more):
    """Writes what this rank knows of itself, and a dump of the same moment."""
    parameters = list(model.parameters())
    known = {"parameter": local_bytes(parameters),
             "gradient": local_bytes([p.grad for p in parameters if p.grad is not None]),
             "optimizer state": local_bytes([value for state in optimizer.state.values() for value in state.values() if isinstance(value, torch.Tensor)]),
             "kept": local_bytes(kept), "pid": os.getpid(), **more}
    (pathlib.Path(os.environ["TRUTH_DIR"]) / f"{rank}.json").write_text(json.dumps(known))
    dist.barrier()
    assert libtensorscope.dump()
    dist.barrier()


def ddp():
    model = nn.parallel.DistributedDataParallel(made_model())
    train(model, torch.optim.Adam(model.parameters()), torch.randn(8, 64))


def fsdp():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = made_model()
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("dp",))
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    train(model, torch.optim.Adam(model.parameters()), torch.randn(8, 64))


def pipeline():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("pp", "dp"))
    stage = mesh.get_local_rank("pp")
    model = made_model(blocks=1 + 2 * stage)
    group = mesh.get_group("pp")
    pipe = ScheduleGPipe(PipelineStage(model, stage, 2, torch.device("cpu"), group=group), n_microbatches=2,
                         loss_fn=lambda output, target: (output - target).square().mean())
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(8, 64)
    for step in range(1, STEPS + 1):
        pipe.step(batch) if stage == 0 else pipe.step(target=batch)
        optimizer.step()
        collect(step)
        if step > 1:
            say(model, optimizer, stage=stage)
        optimizer.zero_grad()


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((64,), float(index))


def workers():
    model = nn.parallel.DistributedDataParallel(made_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2, persistent_workers=True)
    batches = iter(loader)
    model(next(batches)).square().mean().backward()
    optimizer.step()
    known = {"pid": os.getpid(), "workers": [worker.pid for worker in batches._workers]}
    (pathlib.Path(os.environ["TRUTH_DIR"]) / f"{rank}.json").write_text(json.dumps(known))
    dist.barrier()
    print("ready", flush=True)
    sys.stdin.readline()
    dist.barrier()


torch.set_num_threads(1)
dist.init_process_group("gloo")
{"ddp": ddp, "fsdp": fsdp, "pipeline": pipeline, "workers": workers}[sys.argv[1]]()
dist.destroy_process_group()
