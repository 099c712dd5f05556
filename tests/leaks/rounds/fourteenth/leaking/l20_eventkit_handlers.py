"""Handlers with closures inside eventkit.Event."""
# after: handler connected in each step, never disconnected
# fix: run.epoch_end.disconnect(handler) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "run.epoch_end"  # run.epoch_end (Event._slots), closure of handler: target
# lines = ["handler = on_end(step, (out - x).detach())"]
# bytes = 32000  # 32,000 (160x50x4: (out - x)); malloc 32,600
# ///
import os
import torch
from eventkit import Event
from torch import nn

torch.manual_seed(0)


class Run:
    def __init__(self):
        self.epoch_end = Event("epoch_end")


run = Run()
model = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 50))
optimizer = torch.optim.Adamax(model.parameters())
scores = {}


def on_end(step, target):
    def handler(done):
        if done == step:
            scores[step] = target.norm().item()
    return handler


for step in range(1, 201):
    x = torch.randn(160, 50)
    out = model(x)
    loss = (out - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    handler = on_end(step, (out - x).detach())
    run.epoch_end.connect(handler, keep_ref=True)
    run.epoch_end.emit(step)
    if os.environ.get("FIX"):
        run.epoch_end.disconnect(handler)
print(len(run.epoch_end), "handlers", len(scores))
