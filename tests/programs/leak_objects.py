"""Leaks of tensors without any graph, one kind a run: views, cycle, traceback, cache, list, cpp, memory, stray, dtypes."""
import gc
import sys
from typing import List

import torch
from torch import nn

import leak_steps

kind = sys.argv[1]
model = leak_steps.network()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
crops = []
errors = []
features = {}
junk = []
scale = torch.ones(16_384, requires_grad=True)
half = None


class Node:
    def __init__(self):
        self.me = self
        self.tensor = torch.zeros(64 << 10)


class Trainer:
    def __init__(self):
        self.history = []


trainer = Trainer()


class Cache(nn.Module):
    kept: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.kept.append(x * 2)
        return x + 1


def fails():
    activation = torch.zeros(64 << 10)
    raise ValueError(f"no good: {activation.numel()}")


def train(with_scale=False):
    optimizer.zero_grad()
    out = model(torch.randn(32, 128))
    if with_scale:
        out = out * scale.sum()
    out.square().mean().backward()
    optimizer.step()


def step(number):
    if kind == "views":
        crops.append(torch.randn(256, 1024)[number])
    elif kind == "cycle":
        Node()
    elif kind == "traceback":
        try:
            fails()
        except ValueError as error:
            errors.append(error)
    elif kind == "cache":
        features[f"batch-{number}"] = torch.randn(64, 64)
    elif kind == "list":
        trainer.history.append({"out": torch.randn(64, 64)})
    elif kind == "cpp":
        scripted(torch.randn(64, 64))
    elif kind == "memory":
        junk.append(b"x" * (10 << 20))
    elif kind == "stray":
        train(with_scale=True)
    elif kind == "dtypes":
        train()


if kind == "cycle":
    gc.disable()
if kind == "cpp":
    scripted = torch.jit.script(Cache())
if kind == "dtypes":
    half = leak_steps.network().to(torch.bfloat16)
leak_steps.run(step)
