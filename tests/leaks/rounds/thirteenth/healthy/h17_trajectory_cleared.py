"""trajectory.clear() after 8."""
# about: Rollouts of 8 steps with their graph, cleared after the update of the critic.
# kind: trajectory
# looks like: graphs kept over steps: 3 or 4, 7 or 0, 3 or 4 at the dumps
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 512,-512, malloc in use 1352,-708, rss 1024,-204
# /// healthy
# dumps = "steps"
# ///
import copy
import gc
import random
from collections import deque
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
critic = nn.Linear(10, 1)
critic_grad = torch.zeros(10)
trajectory = []
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    trajectory.append(critic(out.detach()).mean())
    if len(trajectory) == 8:
        critic_grad = torch.autograd.grad(torch.stack(trajectory).sum(), critic.weight)[0]
        trajectory.clear()
    if step % 20 == 0:
        print(step, loss.item())
