"""Copies of the last five steps' weights, as in weight averaging."""
# /// healthy
# dumps = "steps"
# ///
import collections
import copy

import torch
from torch import nn

model = nn.Linear(64, 64)
optimizer = torch.optim.Adam(model.parameters())
checkpoints = collections.deque(maxlen=5)
for step in range(60):
    loss = model(torch.randn(16, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    checkpoints.append(copy.deepcopy(model.state_dict()))
