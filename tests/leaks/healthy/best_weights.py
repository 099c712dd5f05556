"""The best weights so far, replaced when a better step comes."""
# /// healthy
# dumps = "steps"
# ///
import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(128, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
best, best_weights = float("inf"), None
for step in range(60):
    loss = model(torch.randn(64, 128)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < best:
        best, best_weights = loss.item(), copy.deepcopy(model.state_dict())
