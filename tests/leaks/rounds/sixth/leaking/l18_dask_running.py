"""Lazy task graph, with dask (delayed)."""
# after: dask forum "accumulating with delayed in a loop: graph keeps all inputs until compute()"
# fix: running = delayed(running.compute()) each step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ["running._dask", "running.dask"]  # running (its HighLevelGraph: running.dask.layers)
# lines = ["kept = feats.detach().clone()"]
# bytes = 32768  # storage 128*64*4; malloc in all 51518
# ///
import os
import dask
import torch
from dask import delayed
from torch import nn

torch.manual_seed(0)
dask.config.set(scheduler="synchronous")


@delayed
def moments(feats):
    return float(feats.mean()), float(feats.var())


@delayed
def add(a, b):
    return a[0] + b[0], a[1] + b[1]


net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
running = delayed((0.0, 0.0))
for step in range(64):
    x = torch.randn(128, 32)
    feats = net(x)
    loss = (feats.pow(2).sum(1) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept = feats.detach().clone()
    running = add(running, moments(kept))
    if os.environ.get("FIX"):
        running = delayed(running.compute())
print(running.compute())
