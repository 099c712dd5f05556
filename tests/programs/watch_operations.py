"""Modules whose operations are watched. Each notes what its own operations gave, for TRUTH_DIR/truth.pt."""

import os
import pathlib
import sys

import torch
from torch import nn

TRUTH = []


def note(name, tensor):
    TRUTH.append((name, tensor.detach().clone()))
    return tensor


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)

    def forward(self, x):
        path = "model.inner"
        y = note(f"{path}.project/aten::linear", self.project(x))
        y = note(f"{path}/aten::mul", y * 2)
        note(f"{path}/aten::add_", y.add_(1))  # in place
        view = note(f"{path}/aten::transpose", y.transpose(0, 1))
        y = note(f"{path}/aten::softmax", view.softmax(-1))
        left, right = y.chunk(2)
        note(f"{path}/aten::chunk[0]", left)
        note(f"{path}/aten::chunk[1]", right)
        values, indexes = y.max(-1)
        note(f"{path}/aten::max[0]", values)
        note(f"{path}/aten::max[1]", indexes)
        torch.empty(3)
        with torch.no_grad():
            note(f"{path}/aten::exp", left.exp())
        for index in range(3):
            y = note(f"{path}/aten::sub", y - index)
        return y


class Left(nn.Module):
    def forward(self, x):
        return x.tanh()


class Slope(nn.Module):
    """A backward pass within a forward call: z * z, and its gradient by two more products."""

    def forward(self, x):
        z = x.detach().requires_grad_()
        with torch.enable_grad():
            y = z * z
            (gradient,) = torch.autograd.grad(y, z, torch.ones(4, 4))
        return x + gradient


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.left = Left()
        self.slope = Slope()

    def forward(self, x):
        return note("model/aten::add", self.left(self.inner(self.slope(x))) + 1)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        TRUTH.append(None)
        out = model(torch.randn(4, 4))
        loss = out.square().sum().log()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    try:
        model(torch.randn(3, 3))
    except RuntimeError:
        losses.append((torch.ones(3) * 5).sum().item())
    torch.save(TRUTH, pathlib.Path(os.environ["TRUTH_DIR"]) / "truth.pt")
    print(losses, torch.rand(1).item(), model.inner.project.weight._version)


if __name__ == "__main__":
    sys.exit(main())
