"""A memory report names tensors in a dictionary that has the tensors themselves as keys."""
# Stonesjtu/pytorch_memlab#17: Memory leak when calling mem reporter
# /// leak
# dumps = "steps"
# kinds = ["container", "accumulated-graph"]
# holder = "tensor_name"
# lines = ["features = torch.tanh("]
# bytes = [32768, 33100]  # 64 x 128 floats and the loss; backward frees what the graph saved
# ///
import torch
from torch import nn


class MemReporter:
    def __init__(self):
        self.tensor_name = {}

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
