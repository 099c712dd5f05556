"""Leaks through the autograd graph, one kind a run: kept, kept-after-backward, sum, sum-after-backward, hidden, functions."""
import sys

import torch
from torch import nn

import leak_steps

kind = sys.argv[1]
model = leak_steps.network()
cell = nn.RNNCell(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []
functions = []


class Trainer:
    def __init__(self):
        self.total = 0
        self.hidden = torch.zeros(32, 64)


trainer = Trainer()


def loss_of_a_batch():
    return model(torch.randn(32, 128)).square().mean()


def step(number):
    if kind == "hidden":
        trainer.hidden = cell(torch.randn(32, 64), trainer.hidden)
        return
    loss = loss_of_a_batch()
    if kind.endswith("after-backward"):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if kind.startswith("kept"):
        losses.append(loss)
    elif kind.startswith("sum"):
        trainer.total = trainer.total + loss
    elif kind == "functions":
        for _ in range(8):
            functions.append((loss + number).grad_fn)


leak_steps.run(step)
