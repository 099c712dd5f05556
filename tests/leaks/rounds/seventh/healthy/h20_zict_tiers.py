"""The fast tier holds at most 200 KB (8 entries of 24 KiB), full after step 8; the slow tier is on disk as pickles, its keys are short strings."""
# report: "zict Buffer: does the fast tier grow?": a two-tier cache, LRU of 200 KB in memory by weight, the rest goes to files
# library: zict
# /// healthy
# dumps = "steps"
# ///
import pickle
import shutil
import tempfile

import torch
import torch.nn as nn
import zict

folder = tempfile.mkdtemp()
fast = {}
slow = zict.Func(pickle.dumps, pickle.loads, zict.File(folder))
cache = zict.Buffer(fast, slow, n=200_000, weight=lambda k, v: v.nbytes)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 48))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(66):
    x = torch.randn(128, 48)
    cache[f"batch-{step}"] = x
    old = cache[f"batch-{max(0, step - 3)}"]
    loss = (net(x) - x).pow(2).mean() + (net(old) - old).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), len(cache.fast), len(cache.slow), flush=True)
shutil.rmtree(folder)
