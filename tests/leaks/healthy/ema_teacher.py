"""A teacher is the moving average of its student: a copy that is written in place."""
# /// healthy
# dumps = "steps"
# ///
import copy

import torch
from torch import nn

student = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 16))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.AdamW(student.parameters())
for step in range(60):
    views = torch.randn(2, 32, 64)
    with torch.no_grad():
        goal = teacher(views[0]).softmax(1)
    loss = nn.functional.cross_entropy(student(views[1]), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for average, weight in zip(teacher.parameters(), student.parameters()):
            average.lerp_(weight, 0.01)
