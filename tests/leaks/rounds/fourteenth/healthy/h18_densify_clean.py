"""Gaussian-splatting like density control: parameters are replaced every 2 steps with their number going up and down (2800 to 3200), the optimizer's state of the old ones is deleted. Two live at a time."""
# looks like: new parameters and states for ever
# /// healthy
# dumps = "steps"
# ///
import random
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
points = nn.Parameter(torch.randn(3000, 3))
optimizer = torch.optim.Adam([points], lr=1e-2)
goal = torch.zeros(3)
for step in range(1, 201):
    loss = (points - goal).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        n = random.randint(2800, 3200)
        pick = torch.randint(0, len(points), (n,))
        stored = optimizer.state.pop(points)
        new = nn.Parameter(points.detach()[pick])
        optimizer.state[new] = {k: v if k == "step" else v[pick] for k, v in stored.items()}
        optimizer.param_groups[0]["params"] = [new]
        points = new
print(loss.item(), len(points))
