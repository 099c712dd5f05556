"""Viztracer keeps the last 8000 function entries in a circular buffer (native memory made at the start, entries hold names); a step makes over 1000 of them: full by step 10."""
# looks like: a tracer that is on during the whole training
# library: viztracer
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from viztracer import VizTracer

torch.manual_seed(0)


def smooth(values, window=8):
    return [mean(values[max(0, i - window):i + 1]) for i in range(len(values))]


def mean(values):
    return sum(values) / len(values)


tracer = VizTracer(tracer_entries=8000, verbose=0, log_func_args=False)
net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
curve = []
tracer.start()
for step in range(80):
    x = torch.rand(64, 32)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True).sin())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve = (curve + [loss.item()])[-400:]
    smooth(curve * 20 if len(curve) < 20 else curve * 5)
tracer.stop()
tracer.clear()
print(round(curve[-1], 4))
