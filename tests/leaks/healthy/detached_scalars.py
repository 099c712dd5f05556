"""A history of detached losses: four bytes a step."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.Linear(64, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
for step in range(60):
    loss = model(torch.randn(32, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.detach())
