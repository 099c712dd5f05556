"""An algorithm, its policy and its buffer refer to each other; runs are started one after another with the collector off."""
# DLR-RM/stable-baselines3#1966: [Bug]: Higher memory usage on sequential training runs
# DLR-RM/stable-baselines3#2192: fix: add close() method to prevent memory leak in repeated training
# /// leak
# dumps = "steps"
# kinds = ["reference-cycle"]
# holder = "Algorithm"
# lines = ["self.observations = torch.zeros("]
# bytes = [131072, 160000]  # the buffer of 512 x 64 floats; weights, gradients and moments of 64 x 4 and 4
# ///
import gc

import torch
from torch import nn

gc.disable()


class RolloutBuffer:
    def __init__(self):
        self.observations = torch.zeros(512, 64)


class Policy(nn.Module):
    def __init__(self, algorithm):
        super().__init__()
        self.net = nn.Linear(64, 4)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.on_update = algorithm.log


class Algorithm:
    def __init__(self):
        self.buffer = RolloutBuffer()
        self.policy = Policy(self)

    def log(self, text):
        self.last = text

    def learn(self):
        loss = self.policy.net(self.buffer.observations + 1).square().mean()
        self.policy.optimizer.zero_grad()
        loss.backward()
        self.policy.optimizer.step()
        self.policy.on_update(f"loss {loss.item()}")


for trial in range(60):
    Algorithm().learn()
