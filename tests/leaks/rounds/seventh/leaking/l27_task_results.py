"""Result store of a task queue, outside tensors (bytes), with huey."""
# after: huey issue "results are never removed when nobody reads them": pickled results stay in MemoryStorage
# fix: MemoryHuey(results=False), or read the result: handle.get()
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "huey.storage._results"  # huey.storage._results (dict id -> pickled bytes)
# lines = []
# bytes = 40000  # bytes of 10,000 float32, pickled again; malloc in use 40,258 to 40,516
# ///
import os

import torch
import torch.nn as nn
from huey import MemoryHuey

huey = MemoryHuey("score", immediate=True, immediate_use_memory=True, results=not os.environ.get("FIX"))
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


@huey.task()
def rank(ids):
    with torch.no_grad():
        scores = net(torch.tensor(ids).float().view(-1, 1) % torch.arange(2, 18))
    return scores.squeeze(1).numpy().tobytes()


for step in range(66):
    x = torch.randn(32, 16)
    loss = (net(x).squeeze(1) - x[:, 0]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    rank(list(range(step, step + 10000)))
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
