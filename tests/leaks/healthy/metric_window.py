"""Metrics over the last twelve batches: predictions and targets in deques with a limit."""
# /// healthy
# dumps = "steps"
# ///
import collections

import torch
from torch import nn


class WindowedMetric:
    def __init__(self, window):
        self.updates = collections.defaultdict(lambda: collections.deque(maxlen=window))

    def update(self, predictions, targets):
        self.updates["predictions"].append(predictions.detach())
        self.updates["targets"].append(targets)

    def compute(self):
        return (torch.cat(list(self.updates["predictions"])) - torch.cat(list(self.updates["targets"]))).abs().mean().item()


model = nn.Linear(64, 32)
optimizer = torch.optim.Adam(model.parameters())
metric = WindowedMetric(12)
history = []
for step in range(60):
    x, targets = torch.randn(128, 64), torch.randn(128, 32)
    predictions = model(x)
    loss = nn.functional.mse_loss(predictions, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    metric.update(predictions, targets)
    history.append(metric.compute())
