"""The inner loop of meta-learning stores the fast weights of every step, each with the graph that leads to the one before."""
# facebookresearch/higher#6: Memory leak when performing inner loop on a copy
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "container", "state-not-detached"]
# holder = "_fast_params"
# lines = ["self._fast_params.append(", "gradients = torch.autograd.grad("]
# bytes = [32768, 200000]  # weights of 64 x 64 floats, their gradient, what the two graphs save
# ///
import sys

import torch
from torch import nn


class FastModel:
    def __init__(self, model):
        self._fast_params = [[p.clone() for p in model.parameters()]]

    def loss(self, batch):
        weight, bias = self._fast_params[-1]
        return torch.tanh(nn.functional.linear(batch, weight, bias)).square().mean()

    def step(self, loss):
        gradients = torch.autograd.grad(loss, self._fast_params[-1], create_graph=True)
        self._fast_params.append([p - 0.1 * g for p, g in zip(self._fast_params[-1], gradients)])


fast_model = FastModel(nn.Linear(64, 64))
for line in sys.stdin:
    loss = fast_model.loss(torch.randn(16, 64))
    fast_model.step(loss)
    print(loss.item(), flush=True)
