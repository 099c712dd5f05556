"""What is logged for the end of an epoch is a sum of detached errors by unit and a number of batches, for each of three names."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class Logged:
    def __init__(self):
        self.sums, self.counts = {}, {}

    def log(self, name, value):
        self.sums[name] = self.sums.get(name, 0) + value.detach()
        self.counts[name] = self.counts.get(name, 0) + 1

    def means(self):
        return {name: (self.sums[name] / self.counts[name]).mean().item() for name in self.sums}


model, logged = nn.Linear(64, 256), Logged()
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    batch = torch.randn(128, 64)
    error = (model(batch) - batch.repeat(1, 4)).square()
    optimizer.zero_grad()
    error.mean().backward()
    optimizer.step()
    logged.log("by_unit", error.mean(0))
    logged.log("by_sample", error.mean(1))
    logged.log("all", error)
print(logged.means())
