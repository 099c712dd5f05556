"""The window is full at step 8 (4 positions a step), the cache at step 16."""
# about: A KV cache with a sliding window of 32 positions, and a table of the last 16 prompts.
# kind: KV cache, lru_cache(maxsize=16)
# looks like: cat makes new tensors in each step
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 396,80, rss 614,614
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
import functools


@functools.lru_cache(maxsize=16)
def prompt(k):
    return torch.randn(16, 256)


keys = torch.zeros(1, 0, 256)
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    keys = torch.cat([keys, prompt(step)[:4].unsqueeze(0) * loss.item()], 1)[:, -32:].clone()
    if step % 20 == 0:
        print(step, loss.item())
