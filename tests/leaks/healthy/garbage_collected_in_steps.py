"""Batches are in reference cycles, and the garbage collector runs every eighth step, as in training loops that time it themselves."""
# /// healthy
# dumps = "steps"
# ///
import gc

import torch
from torch import nn


class Storage:
    def __init__(self, parent, x):
        self.parent, self.x = parent, x


class Batch:
    def __init__(self, x):
        self.store = Storage(self, x)


gc.disable()
model = nn.Linear(128, 64)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1, 61):
    batch = Batch(torch.randn(96, 128))
    loss = model(batch.store.x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        gc.collect()
