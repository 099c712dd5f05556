"""gc.collect() every 7 steps frees all: at most 7 batches."""
# about: Objects in reference cycles, collected by hand every 7 steps.
# kind: late garbage collection
# looks like: dead batches in cycles: 5 or 6, 4 or 5, 3 or 4 of them at steps 20, 40, 60 (x 64 KiB)
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 168,120, rss 2662,-204
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
gc.disable()


class Node:
    def __init__(self, data):
        self.data, self.me = data, self


for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    Node(torch.randn(128, 128))
    if step % 7 == 0:
        gc.collect()
    if step % 20 == 0:
        print(step, loss.item())
