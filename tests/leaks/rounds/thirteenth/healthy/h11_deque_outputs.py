"""deque(maxlen=12), full at step 12."""
# about: The last 12 outputs with their graphs.
# kind: deque
# looks like: outputs with grad_fn kept in a container
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 326,210, rss 4505,204
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
recent = deque(maxlen=12)
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = nn.functional.cross_entropy(out, x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append((step, out, loss))
    if step % 20 == 0:
        print(step, loss.item())
