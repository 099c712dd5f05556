"""Objects of C++ (c10d Work) that hold tensors, with torch.distributed (gloo, one process)."""
# after: distributed forum "async_op=True handles kept": handles of all_reduce are kept in a list for a statistic that is never computed
# fix: handles.clear() after wait
# /// leak
# dumps = "steps"
# kinds = ["cpp-only", "container", "module-cache"]
# holder = "handles"  # handles (list of Work)
# lines = ["return torch.cat([p.grad.reshape(-1) for p in model.paramete"]
# bytes = 38440  # 9,610 float32; storages
# ///
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn


def flatten(model):
    return torch.cat([p.grad.reshape(-1) for p in model.parameters()])


def main():
    dist.init_process_group("gloo", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    handles = []
    for step in range(66):
        x = torch.randn(64, 64)
        loss = nn.functional.cross_entropy(model(x), torch.randint(0, 10, (64,)))
        opt.zero_grad()
        loss.backward()
        flat = flatten(model)
        handles.append(dist.all_reduce(flat, async_op=True))
        handles[-1].wait()
        offset = 0
        for p in model.parameters():
            p.grad.copy_(flat[offset:offset + p.numel()].view_as(p))
            offset += p.numel()
        opt.step()
        if os.environ.get("FIX"):
            handles.clear()
        if step % 20 == 0:
            print(step, loss.item(), flush=True)
    print(sum(h.is_completed() for h in handles))
    dist.destroy_process_group()


main()
