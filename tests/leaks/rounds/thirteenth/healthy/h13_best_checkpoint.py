"""One copy at a time."""
# about: The best weights so far are copied.
# kind: best checkpoint
# looks like: deepcopies of state_dict at irregular steps
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 217,232, rss 1024,-409
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
best, best_loss = None, 1e9
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if loss.item() < best_loss:
        best, best_loss = copy.deepcopy(model.state_dict()), loss.item()
    if step % 20 == 0:
        print(step, loss.item())
