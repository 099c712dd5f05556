"""A compiled step, captured once."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters())


@torch.compile(backend="eager")
def loss_of(x):
    return model(x).square().mean()


for step in range(60):
    loss = loss_of(torch.randn(16, 32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
