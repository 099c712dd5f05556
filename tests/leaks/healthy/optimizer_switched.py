"""Adam for the first 30 steps, then SGD with momentum: the state of the one goes, that of the other comes."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128))
optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
for step in range(60):
    if step == 30:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
    x = torch.randn(32, 128)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
