"""Four small batches before each step of the optimizer."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(60):
    optimizer.zero_grad()
    losses = []
    for part in range(4):
        loss = nn.functional.cross_entropy(model(torch.randn(16, 64)), torch.randint(10, (16,))) / 4
        loss.backward()
        losses.append(loss.detach())
    optimizer.step()
