"""Autograd graphs kept by a metric buffer, with fvcore."""
# after: "EventStorage/HistoryBuffer: CUDA memory increases": update(loss) with the loss tensor itself, not loss.item()
# fix: history.update(loss.item())
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holders = ["history._data", "history._global_avg"]  # history._data (tuples with the loss) and history._global_avg (a running average made of every loss): both
# lines = ["monitored = reg(features).pow(2).mean()", "features = net(noise)                 # monitored only: neve"]
# bytes = 139532  # 139532 (malloc in use 153700 with 13 nodes of the graph) (noise 64x32: 8192, two activations 64x256: 131072, output 64x1: 256, 3 scalars; found by gc and by walking grad_fn for saved tensors)
# ///
import os

import torch
import torch.nn as nn
from fvcore.common.history_buffer import HistoryBuffer

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
head = nn.Linear(256, 10)
reg = nn.Linear(256, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters(), *reg.parameters()], lr=0.01)
history = HistoryBuffer()

for step in range(1, 81):
    x, y = torch.randn(64, 32), torch.randint(10, (64,))
    loss = nn.functional.cross_entropy(head(net(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    noise = torch.randn(64, 32)
    features = net(noise)                 # monitored only: never goes backward
    monitored = reg(features).pow(2).mean()
    history.update(monitored.item() if os.environ.get("FIX") else monitored)
    if step % 20 == 0:
        print(step, round(float(history.global_avg()), 4))
