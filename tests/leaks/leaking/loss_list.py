"""A collector of statistics keeps one loss tensor for each episode, with the graph that made it."""
# IBM/mi-prometheus#111: Memory 'leak' due to compounding number of loss tensors
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph"]
# holder = "collector"
# lines = ["x = self.act("]
# bytes = 229380  # 7 x 64 x 128 floats: the input, three outputs of linear, two of elu, the difference; the loss
# ///
import sys

import torch
from torch import nn


class Problem(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(3))
        self.act = nn.ELU()

    def evaluate_loss(self, x):
        target = x.roll(1, 0)
        for layer in self.layers:
            x = self.act(layer(x))
        return (x - target).abs().mean()


class StatisticsCollector(dict):
    def add(self, key, value):
        self.setdefault(key, []).append(value)


problem = Problem()
collector = StatisticsCollector()
for line in sys.stdin:
    collector.add("loss", problem.evaluate_loss(torch.randn(64, 128)))
    collector.add("episode", int(line))
    print(len(collector["loss"]), flush=True)
