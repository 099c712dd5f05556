"""Rollouts are moved to shared memory for workers, by number; those that the workers have read are never taken out."""
# Lightning-AI/pytorch-lightning#2352: Shared memory leak with large dataset and num_workers > 0
# pytorch/pytorch#45321: Memory leak when using share_memory_ on cuda device
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "rollouts"
# lines = ["states = ", "self.rollouts[number] = "]
# bytes = 65536  # 256 x 64 floats
# ///
import torch
from torch import nn


class Exchange:
    def __init__(self):
        self.rollouts = {}

    def publish(self, number, states):
        self.rollouts[number] = states.share_memory_()


policy = nn.Linear(64, 64)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
exchange = Exchange()
for number in range(60):
    states = torch.randn(256, 64)
    exchange.publish(number, states)
    loss = policy(exchange.rollouts[number]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
