"""Two stages of threads with queues of 6 and 4 batches; the producers wait when they are full (from the first steps on)."""
# looks like: background threads make batches ahead of the training; tensors made in other threads wait in queues
# library: pypeln
# /// healthy
# dumps = "steps"
# ///
import time

import pypeln as pl
import torch
import torch.nn as nn

torch.manual_seed(0)


def read(i):
    return i, torch.rand(32, 3, 32, 32)


def augment(item):
    i, x = item
    if i % 2:
        x = x.flip(3)
    return x + 0.05 * torch.randn_like(x), torch.full((32,), i % 10)


stage = pl.thread.map(read, range(75), workers=1, maxsize=6)
stage = pl.thread.map(augment, stage, workers=1, maxsize=4)
net = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for x, y in stage:
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.03)
print(round(loss.item(), 3))
