"""6 traces: all are there by step 12 (lengths come in turn)."""
# about: Traced modules for 6 lengths, made when a length comes first.
# kind: jit warm up
# looks like: a dict of compiled modules grows in the warm up
# library: torch.jit
# measured: bytes a step in 20..40, 40..60: tensors that gc sees -102,204, malloc in use 136,411, rss 409,614
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
traced = {}
backbone = nn.Sequential(nn.Conv1d(4, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 4, 1)).eval().requires_grad_(False)
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    length = 32 * (1 + step // 2 % 6)
    signal = torch.randn(2, 4, length)
    if length not in traced:
        traced[length] = torch.jit.trace(backbone, signal)
    energy = traced[length](signal).pow(2).mean().item()
    if step % 20 == 0:
        print(step, loss.item())
