"""A hook on the graph of a cached tensor clears the cache when gradients come: cache, graph and hook refer to each other."""
# cornellius-gp/gpytorch#2631: [Bug] Memory leak in fantasy models when the mean cache is not detached
# meta-pytorch/botorch#2728: [Bug]: Memory leak with minimal example
# /// leak
# dumps = "requests"
# kinds = ["graph-cycle", "reference-cycle"]
# holder = "args[0].cache['mean']"
# lines = ["self.cache[", "self.inputs ="]
# bytes = [65536, 196608]  # inputs and cached mean, 128 x 64 floats each, and what the graph of the mean saved
# ///
import functools
import sys

import torch
from torch import nn


def clear_cache(strategy, *_):
    strategy.cache.clear()


class PredictionStrategy:
    def __init__(self, inputs):
        self.inputs = inputs
        self.cache = {}

    def mean(self, covariance):
        if "mean" not in self.cache:
            self.cache["mean"] = covariance(self.inputs).tanh()
            self.cache["mean"].grad_fn.register_hook(functools.partial(clear_cache, self))
        return self.cache["mean"]


covariance = nn.Linear(64, 64)
for line in sys.stdin:
    strategy = PredictionStrategy(torch.rand(128, 64))
    print(strategy.mean(covariance).sum().item(), flush=True)
