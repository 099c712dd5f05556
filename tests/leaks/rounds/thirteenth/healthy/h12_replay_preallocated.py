"""Allocated once (100 x 64 x 64 float32 = 1.6 MiB); its pages are touched until the end (still filling at step 60)."""
# about: A replay buffer of numpy zeros, filled from the start.
# kind: numpy buffer, lazily touched
# looks like: rss grows by 16 KiB a step
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 200,50, rss 18841,16998
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
replay = np.zeros((100, 64, 64), np.float32)
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    replay[step - 1] = x.numpy()
    old = replay[random.randrange(step)].mean()
    if step % 20 == 0:
        print(step, loss.item())
