"""The list is cleared at 10 snapshots; full (10) at each tenth step, then emptied."""
# about: Average of the weights over windows of 10 steps, after swa_utils' EMA.
# kind: EMA and a list of the window
# looks like: snapshots are collected
# library: torch.optim.swa_utils
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 510,218, rss 819,819
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
ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
window, average = [], None
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update_parameters(model)
    window.append(nn.utils.parameters_to_vector(model.parameters()).detach().clone())
    if len(window) == 10:
        average = torch.stack(window).mean(0)
        window.clear()
    if step % 20 == 0:
        print(step, loss.item())
