"""Log likelihoods of the whole data set are collected for the Fisher matrix, each with the graph of its batch."""
# shivamsaboo17/Overcoming-Catastrophic-forgetting-in-Neural-Networks#2: Fisher Update causing errors
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "container"]
# holder = "log_liklihoods"
# lines = ["output = ", "batch, target = "]
# bytes = [24000, 31000]  # 32 rows of floats: 64 of the batch, 128 after the relu, 10 logarithms; targets
# ///
import sys

import torch
from torch import nn


def fisher(model, batches):
    log_liklihoods = []
    for line in batches:
        batch, target = torch.randn(32, 64), torch.randint(10, (32, 1))
        output = torch.log_softmax(model(batch), dim=1)
        log_liklihoods.append(output.gather(1, target))
        print(len(log_liklihoods), flush=True)
    return torch.autograd.grad(torch.cat(log_liklihoods).mean(), model.parameters())


fisher(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), sys.stdin)
