"""Batches become larger every fourth step up to step 50; the last eight losses are kept, detached."""
# /// healthy
# dumps = "steps"
# ///
import collections

import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
optimizer = torch.optim.Adam(model.parameters())
losses = collections.deque(maxlen=8)
for step in range(60):
    x = torch.randn(32 * (1 + min(step, 50) // 4), 64)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
