"""Handles of C++ that keep tensors, with torch.distributed (gloo, one process)."""
# after: "async all_reduce leaks memory": the list of work handles is only waited for, never emptied
# fix: self.pending.clear() after waiting
# /// leak
# dumps = "steps"
# kinds = ["cpp-only", "container", "module-cache"]
# holder = "sync.pending"  # sync.pending (list of pairs of Work and view)
# lines = ["flat = torch.cat([p.grad.flatten() for p in self.params])"]
# bytes = 66304  # 16576 floats
# ///
import os
import tempfile
import torch
import torch.distributed as dist
from torch import nn

torch.manual_seed(0)
dist.init_process_group("gloo", init_method=f"file://{tempfile.mkdtemp()}/store", rank=0, world_size=1)


class GradSync:
    def __init__(self, params):
        self.params, self.pending = list(params), []

    def start(self):
        flat = torch.cat([p.grad.flatten() for p in self.params])
        self.pending.append(dist.all_reduce(flat, async_op=True))
        return flat

    def finish(self, flat):
        for work in self.pending:
            work.wait()
        if os.environ.get("FIX"):
            self.pending.clear()
        n = 0
        for p in self.params:
            p.grad.copy_(flat[n:n + p.numel()].view_as(p))
            n += p.numel()


net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
sync = GradSync(net.parameters())
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for step in range(64):
    x = torch.randn(64, 64)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    sync.finish(sync.start())
    opt.step()
dist.destroy_process_group()
