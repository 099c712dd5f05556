"""Entries die with their samples; 80 entries from step 5 on."""
# report: "table of features keyed by sample" (WeakValueDictionary; samples live in a window of 5 batches)
# looks like: a dict to which entries are added in each step.
# library: torch, weakref
# /// healthy
# dumps = "asks"
# ///
import weakref
from collections import deque

import torch
import torch.nn as nn

from ask import at


class Sample:
    def __init__(self, x):
        self.x = x


torch.manual_seed(0)
net = nn.Linear(256, 256).eval()
table, window, n = weakref.WeakValueDictionary(), deque(maxlen=5), 0
with torch.no_grad():
    for i in range(1, 71):
        batch = [Sample(net(torch.randn(4, 256))) for _ in range(16)]
        for s in batch:
            table[n] = s
            n += 1
        window.append(batch)
        total = sum(s.x.mean().item() for s in table.values())
        at(i)
print(len(table), total)
