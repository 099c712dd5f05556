"""Training with Adam, a schedule and the losses as floats."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10)
losses = []
for step in range(60):
    loss = nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(10, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
print(sum(losses) / len(losses))
