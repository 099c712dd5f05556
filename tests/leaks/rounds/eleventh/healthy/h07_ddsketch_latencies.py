"""Sketches of the distribution of losses and gradients have a fixed number of bins (collapsing stores, 2048 bins at most), however many values go in."""
# looks like: each step adds thousands of values to a metric object
# library: ddsketch
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from ddsketch import LogCollapsingLowestDenseDDSketch as Sketch

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
sketches = {name: Sketch(0.01, 512) for name, _ in net.named_parameters()}
sketches["loss"] = Sketch(0.01, 512)
for step in range(80):
    x, y = torch.randn(128, 64), torch.randint(10, (128,))
    losses = nn.functional.cross_entropy(net(x), y, reduction="none")
    optimizer.zero_grad()
    losses.mean().backward()
    for v in losses.tolist():
        sketches["loss"].add(v)
    for name, p in net.named_parameters():
        for v in p.grad.flatten()[:400].tolist():
            sketches[name].add(v)
    optimizer.step()
print({k: round(s.get_quantile_value(0.99), 4) for k, s in sketches.items()})
