"""A model with every kind of value that can be watched. Writes what it saw itself, by its own hands, to TRUTH_DIR/truth.pt."""

import collections
import os
import pathlib
import pickle
import re
import sys
import weakref

import torch
from torch import nn

Pair = collections.namedtuple("Pair", "left right")


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.project = nn.Linear(size, size)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x, scale=None):
        self.calls += 1
        y = self.project(x)
        if scale is not None:
            y = y * scale
        return Pair(y, {"weights": torch.softmax(y, -1), "none": None})


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.attn = Attention(size)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        return self.norm(x + self.attn(x, scale=torch.full((), 0.5)).left)


class Model(nn.Module):
    def __init__(self, size=6, layers=3):
        super().__init__()
        self.layers = nn.ModuleList(Block(size) for _ in range(layers))
        self.head = nn.Linear(size, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        x = self.layers[0](x)  # once more
        return self.head(x).transpose(0, 1)  # not contiguous


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    truth, results = [], []

    def note(name, tensor, step, mode):
        truth.append((name, step, mode, tensor.detach().clone()))

    for step in range(4):
        data = torch.randn(5, 6)
        for index in range(3):
            note(f"model.layers.{index}.attn.project.weight", model.layers[index].attn.project.weight, step, "train")
        out = model(data)
        note("model", out, step, "train")
        loss = out.square().mean()
        loss.backward()
        note("model.head.weight.grad", model.head.weight.grad, step, "train")
        optimizer.step()
        note("model.head.weight.exp_avg", optimizer.state[model.head.weight]["exp_avg"], step, "train")
        optimizer.zero_grad()
        results.append(loss.item())
        reference = weakref.ref(out)
        version = model.head.weight._version
        del out, loss
        results.append(reference() is None)
        results.append(version)
        if step % 2 == 1:
            model.eval()
            with torch.inference_mode():
                note("model", model(data), step // 2, "eval")
            model.train()
    results.append(torch.rand(3).tolist())
    results.append([len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()])
    results.append(len(re.sub(rb"\d{5,}", b"", pickle.dumps(model))))  # without addresses: they are keys of storages
    if "TRUTH_DIR" in os.environ:
        torch.save(truth, pathlib.Path(os.environ["TRUTH_DIR"]) / "truth.pt")
    print(results)


if __name__ == "__main__":
    sys.exit(main())
