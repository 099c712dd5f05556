"""Graphs of a function are cached by the shape of its input, each with the table that the trace met: five shapes, drawn at random."""
# /// healthy
# dumps = "requests"
# ///
import random
import sys

import torch
from torch import fx, nn


class Compiler:
    def __init__(self):
        self.graphs = {}

    def __call__(self, function, tensor):
        if tensor.shape not in self.graphs:
            self.graphs[tensor.shape] = fx.symbolic_trace(function)
        return self.graphs[tensor.shape](tensor)


def answer(seed):
    length = 32 * random.Random(seed).randint(1, 5)
    bias = torch.linspace(-1, 1, length)[:, None].expand(length, 128).contiguous()
    return compiler(lambda queries: nn.functional.softmax(queries + bias, -1), torch.randn(length, 128)).max().item()


compiler = Compiler()
for line in sys.stdin:
    print(answer(int(line)), flush=True)
