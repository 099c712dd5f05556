"""Batches of any length: the largest so far decides how much memory is in use."""
# /// healthy
# dumps = "steps"
# ///
import random

import torch
from torch import nn

random.seed(1)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 32))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(60):
    length = random.randint(1, 40 + 2 * step)
    loss = model(torch.randn(8, length, 32)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
