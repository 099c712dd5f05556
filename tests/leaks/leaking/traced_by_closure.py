"""Graphs of functions are cached by function, with the constants that the trace met; each request brings a function of its own."""
# pytorch/pytorch#93728: Make invalidating code free memory
# pytorch/pytorch#161883: [dynamo] Prevent unnecessary recompile on disabled functions in the compiled frame
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "graphs"
# lines = ["bias = "]
# bytes = 32768  # 64 x 128 floats
# ///
import sys

import torch
from torch import fx, nn


class Compiler:
    def __init__(self):
        self.graphs = {}

    def __call__(self, function, *arguments):
        if function not in self.graphs:
            self.graphs[function] = fx.symbolic_trace(function)
        return self.graphs[function](*arguments)


def answer(seed):
    torch.manual_seed(seed)
    bias = torch.rand(64, 128)

    def scores(queries):
        return nn.functional.softmax(queries + bias, -1)

    return compiler(scores, torch.randn(64, 128)).max().item()


compiler = Compiler()
for line in sys.stdin:
    print(answer(int(line)), flush=True)
