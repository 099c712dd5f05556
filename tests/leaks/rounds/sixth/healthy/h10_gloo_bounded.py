"""At most 4 asynchronous reductions are pending (deque; the oldest is waited for and dropped)."""
# looks like: C++ handles with tensors that are appended each step
# library: torch.distributed (gloo, one process)
# /// healthy
# dumps = "steps"
# ///
import os
import tempfile
from collections import deque
import torch
import torch.distributed as dist
from torch import nn

torch.manual_seed(0)
dist.init_process_group("gloo", init_method=f"file://{tempfile.mkdtemp()}/store", rank=0, world_size=1)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
pending = deque()
for step in range(64):
    x = torch.randn(64, 64)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    flat = torch.cat([p.grad.flatten() for p in net.parameters()])
    pending.append((dist.all_reduce(flat, async_op=True), flat))
    if len(pending) > 4:
        work, old = pending.popleft()
        work.wait()
        n = 0
        for p in net.parameters():  # stale gradients
            p.grad.copy_(old[n:n + p.numel()].view_as(p))
            n += p.numel()
    opt.step()
for work, _ in pending:
    work.wait()
dist.destroy_process_group()
