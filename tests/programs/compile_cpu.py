"""torch.compile on the CPU: forward, backward and an optimizer step in generated code."""
import torch
from torch import nn

import truth

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = compiled(torch.ones(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
truth.moment()
