"""Outputs of validation are collected for an epoch of ten steps and cleared after it."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.Linear(32, 100)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
outputs = []
for step in range(60):
    loss = model(torch.randn(16, 32)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        outputs.append(model(torch.randn(64, 32)))
    if step % 10 == 9:
        print(torch.cat(outputs).mean().item())
        outputs.clear()
