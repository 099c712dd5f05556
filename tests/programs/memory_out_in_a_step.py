"""Runs out of memory on a device in the middle of a step: memory_out_in_a_step.py KIND. Only `kept-graphs` has a leak."""

import sys

import torch
from torch import nn

WIDTH = 256


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(40))

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(nn.functional.layer_norm(x, [WIDTH])))
        return x.mean()


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(WIDTH, WIDTH)

    def forward(self, x):
        h = c = x.new_zeros(len(x), WIDTH)
        outputs = []
        for _ in range(200):
            h, c = self.cell(x, (h, c))
            outputs.append(h)
        return torch.stack(outputs).mean()


class Shared(nn.Module):
    """One layer, many times."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        for _ in range(12):
            x = x + self.layer(x)
        return x.mean()


def batches(kind):
    yield from {"larger-batch": [512, 3000], "unrolled": [512], "shared": [512] * 3 + [1 << 15],
                "kept-graphs": [256] * 1000}[kind]


def main(kind):
    model = {"unrolled": Unrolled, "shared": Shared}.get(kind, Deep)().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for batch in batches(kind):
        loss = model(torch.randn(batch, WIDTH, device="cuda"))
        loss.backward(retain_graph=kind == "kept-graphs")
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss if kind == "kept-graphs" else loss.item())


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except torch.OutOfMemoryError:
        print("out of memory")
