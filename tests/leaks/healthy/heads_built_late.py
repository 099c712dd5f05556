"""A head for each of six tasks, built and given to the optimizer when its task is first drawn; a lazy trunk."""
# /// healthy
# dumps = "steps"
# ///
import random

import torch
from torch import nn

TASKS = ("syntax", "topic", "tone", "language", "length", "source")


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.heads = nn.LazyLinear(128), nn.ModuleDict()

    def forward(self, x, task):
        return self.heads[task](torch.relu(self.trunk(x)))


random.seed(3)
model = MultiTask()
model.trunk(torch.zeros(1, 96))
optimizer = torch.optim.Adam(model.trunk.parameters())
for step in range(60):
    task = random.choice(TASKS)
    if task not in model.heads:
        model.heads[task] = nn.Linear(128, 64)
        optimizer.add_param_group({"params": model.heads[task].parameters()})
    loss = model(torch.randn(32, 96), task).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
