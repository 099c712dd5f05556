"""A memory report names tensors in a dictionary with weak keys: a name goes with its tensor."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torch.utils.weak import WeakTensorKeyDictionary


class MemReporter:
    def __init__(self):
        self.tensor_name = WeakTensorKeyDictionary()

    def collect(self, **tensors):
        for name, tensor in tensors.items():
            self.tensor_name[tensor] = name

    def report(self):
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensor_name)


trunk, head = nn.Linear(32, 128), nn.Linear(128, 8)
optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.01)
reporter = MemReporter()
for step in range(60):
    features = torch.tanh(trunk(torch.randn(64, 32)))
    loss = head(features).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    reporter.collect(features=features, loss=loss)
    reporter.report()
