"""Leaks one graph a step from a known line; takes a dump after 10, 20 and 30 steps."""
import torch
from torch import nn

import truth

torch.manual_seed(0)
model = nn.Linear(64, 64)
losses = []


def step():
    loss = model(torch.randn(16, 64)).square().mean()
    losses.append(loss)
    return truth.here()


for number in range(1, 31):
    file, line = step()
    if number % 10 == 0:
        truth.moment(str(number), file=file, line=line - 2, losses=len(losses))
