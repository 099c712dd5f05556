"""Graphs on which an answer about nodes instead of tensors is wrong: custom Functions that keep things on their ctx,
operations with several outputs, inputs that need no gradient, leaves without a name.

Writes TRUTH_DIR/1.json with the tensors' ids (address of the TensorImpl) by name.
"""

import json
import os

import torch
from torch import nn

import truth


class Scale(torch.autograd.Function):
    """Keeps its input beside save_for_backward, and a list inside of an object."""

    @staticmethod
    def forward(ctx, data, factor):
        ctx.cache = torch.ones(1024, 1024) * factor
        ctx.extra = {"list": [torch.zeros(512, 1024)]}
        ctx.save_for_backward(data)
        return data * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2, None


class Bare(torch.autograd.Function):
    """Keeps nothing that Python could find."""

    @staticmethod
    def forward(ctx, data):
        return data + 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def main():
    torch.manual_seed(0)
    weight = torch.ones(4, requires_grad=True)
    scaled = Scale.apply(weight, 3.0)
    bare = Bare.apply(weight)

    base = torch.arange(12.0, requires_grad=True)
    trunk = base * 2
    first, second, third = trunk.split(4)
    from_first = first.exp()
    from_third = third.exp().sum()
    rows = torch.ones(3, 2, requires_grad=True).sin().unbind(0)
    from_row = rows[1].cos()

    lstm = nn.LSTM(8, 8)
    sequence = torch.randn(5, 2, 8)
    outputs, (hidden, cell) = lstm(sequence)
    from_outputs = outputs.sum()
    from_cell = cell.square().sum()

    data = torch.randn(4, 4)
    matrix = torch.randn(4, 4, requires_grad=True)
    loss = (data @ matrix).tanh().sum()
    apart = torch.zeros(3)
    other = torch.ones(4, requires_grad=True)
    other_loss = other.sum()

    unnamed = (torch.ones(7, requires_grad=True) * 2).sum()
    truth.moment()
    path = os.path.join(os.environ["TRUTH_DIR"], "1.json")
    with open(path) as file:
        known = json.load(file)
    numbers = {"first": first, "second": second, "third": third, "hidden": hidden, "cell": cell, "outputs": outputs}
    known["outputs"] = {name: tensor.output_nr for name, tensor in numbers.items()}
    with open(path, "w") as file:
        json.dump(known, file)
    return scaled, bare, from_first, from_third, from_row, from_outputs, from_cell, loss, apart, other_loss, unnamed


main()
