"""Optimizer state of parameters that are gone, with torch.optim."""
# after: "continual learning: Adam keeps the state of heads I replaced" (param_groups replaced, optimizer.state not)
# fix: for p in old: opt.state.pop(p)
# /// leak
# dumps = "steps"
# kinds = ["gone-parameters", "container", "module-cache"]
# holder = ["opt.state", "Adam"]  # opt.state (keys: old heads' parameters with their gradients; values: exp_avg, exp_avg_sq)
# lines = ["head = nn.Linear(64, 32)", "loss.backward()", "opt.step()"]
# bytes = 16644  # every second step 2080 floats * 4: parameter, gradient, exp_avg, exp_avg_sq, and steps
# ///
import os
import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(32, 64), nn.ReLU())
head = nn.Linear(64, 32)
opt = torch.optim.Adam([{"params": body.parameters()}, {"params": head.parameters(), "lr": 1e-2}], lr=1e-3)


def new_task():
    global head
    old = list(head.parameters())
    head = nn.Linear(64, 32)
    opt.param_groups[1]["params"] = list(head.parameters())
    if os.environ.get("FIX"):
        for p in old:
            opt.state.pop(p, None)


for step in range(66):
    if step % 2 == 0:
        new_task()
    x, y = torch.randn(64, 32), torch.randint(0, 32, (64,))
    loss = nn.functional.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
