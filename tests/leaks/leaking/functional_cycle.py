"""A functional keeps the function that it was given on ctx: a method of the module that keeps the result."""
# pytorch/pytorch#52140: Memory leak when implementing functionals
# /// leak
# dumps = "requests"
# kinds = ["graph-cycle", "reference-cycle"]
# holder = "Functional"
# lines = ["self.a = torch.nn.Parameter(", "return self.a * x", "self.solution = "]
# bytes = [65536, 131072]  # the parameter and the solution of 128 x 64 floats, perhaps the start
# ///
import gc
import sys

import torch

gc.disable()


class Functional(torch.autograd.Function):
    @staticmethod
    def forward(ctx, function, start, *parameters):
        ctx.function = function
        return function(start)

    @staticmethod
    def backward(ctx, grad):
        return None, None, grad


class Solver(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.ones(128, 64))
        self.solution = Functional.apply(self.forward, torch.ones(128, 64), *self.parameters())

    def forward(self, x):
        return self.a * x


for line in sys.stdin:
    print(Solver().solution.sum().item(), flush=True)
