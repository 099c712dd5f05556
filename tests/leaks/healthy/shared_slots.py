"""Rollouts are written to eight slots of shared memory in turn."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class Exchange:
    def __init__(self):
        self.slots = {}

    def publish(self, number, states):
        self.slots[number % 8] = states.share_memory_()
        return self.slots[number % 8]


policy = nn.Linear(64, 64)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
exchange = Exchange()
for number in range(60):
    states = exchange.publish(number, torch.randn(256, 64))
    loss = policy(states).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
