"""A tracker is evaluated with one accumulator over an endless stream."""
# kind: plain Python objects in a library's accumulator, with motmetrics
# after: py-motmetrics issue kind "MOTAccumulator uses more and more memory"
# fix: acc.reset() every 10 frames after the partial summary (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holders = ["acc._events", "acc._indices"]  # acc._events, acc._indices (acc.reset() clears them)
# lines = []
# bytes = [33900, 35000]  # a frame has 15x15 distances: 225 RAW events and 15 matches, each a row: Python lists in the accumulator's dict of lists (counted: bytes of the objects, as rss); measured, bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 13277,11100, rss 36044,34406; with FIX: malloc 916,719, rss 1433,1228; outside of tensors; correction: by sys.getsizeof 34,973 from step 20 to 60 (_events 30,995, _indices 3,978), 33,917 from 40
# ///
import os
import motmetrics as mm
import numpy as np
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
np.random.seed(0)
embed = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
acc = mm.MOTAccumulator(auto_id=True)
objects = torch.randn(15, 16)
switches = 0


@torch.no_grad()
def distances(a, b):
    return torch.cdist(embed(a), embed(b)).double().numpy()


for i in range(1, 71):
    objects = objects + 0.02 * torch.randn(15, 16)
    seen = objects + 0.05 * torch.randn(15, 16)
    ids = list(range(15))
    cost = distances(objects, seen)
    acc.update(ids, [100 + k for k in ids], cost)
    if i % 10 == 0:
        switches += int(np.argmin(cost, 1).tolist() != ids)
        print("frame", i, "mean distance", round(float(cost.mean()), 3), switches)
        if os.environ.get("FIX"):
            acc.reset()
    at(i)
