"""torch.distributed Work objects (C++) hold their tensors, with torch.distributed (gloo, one process)."""
# after: "async all_reduce handles": works of asynchronous collectives are collected and never cleared
# fix: self.pending.clear() after the waits
# /// leak
# dumps = "steps"
# kinds = ["cpp-only", "container", "module-cache"]
# holder = "reducer.pending"  # reducer.pending (list of Work; each keeps its flat buffer: C++)
# lines = ["return torch.cat([p.grad.flatten() for p in self.params])"]
# bytes = 38440  # 38440 (malloc in use 42000) (flat gradients: (64*128+128+128*10+10) float32 = 38440 B)
# ///
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn

torch.manual_seed(0)


class Reducer:
    def __init__(self, model):
        self.params = list(model.parameters())
        self.pending = []

    def reduce(self):
        flat = self.flat()
        self.pending.append(dist.all_reduce(flat, async_op=True))
        self.pending[-1].wait()
        for p, g in zip(self.params, flat.split([p.numel() for p in self.params])):
            p.grad.copy_(g.view_as(p))

    def flat(self):
        return torch.cat([p.grad.flatten() for p in self.params])


store = tempfile.NamedTemporaryFile(delete=False)
dist.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
reducer = Reducer(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(80):
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    reducer.reduce()
    optimizer.step()
    if os.environ.get("FIX"):
        reducer.pending.clear()
print(round(loss.item(), 3), len(reducer.pending))
dist.destroy_process_group()
os.unlink(store.name)
