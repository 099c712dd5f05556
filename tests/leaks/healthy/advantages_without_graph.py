"""Advantages and value targets are computed under no_grad; the last sixteen batches of samples are kept."""
# /// healthy
# dumps = "requests"
# ///
import collections
import sys

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(64, 128)
        self.value_branch = nn.Linear(128, 1)

    def value(self, observations):
        return self.value_branch(torch.tanh(self.shared(observations))).squeeze(1)


class Worker:
    def __init__(self):
        self.policy, self.samples = Policy(), collections.deque(maxlen=16)

    @torch.no_grad()
    def sample(self):
        observations = torch.randn(64, 64)
        rewards = torch.rand(64)
        values = self.policy.value(observations)
        self.samples.append({"observations": observations, "advantages": rewards - values, "targets": values})
        return self.samples[-1]["advantages"].mean().item()


worker = Worker()
for line in sys.stdin:
    print(worker.sample(), flush=True)
