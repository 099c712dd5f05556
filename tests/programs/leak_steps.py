"""What the programs about leaks share: a small network, and steps with a dump after every ten of them."""
import os

import torch
from torch import nn

try:
    import libtensorscope
except ImportError:
    libtensorscope = None

DUMPS = [int(number) for number in os.environ.get("LEAK_DUMPS", "10,20,30").split(",")]


def dump():
    if libtensorscope:
        libtensorscope.dump()


def network(width=128):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))


def run(step):
    """Calls step(number) and takes the dumps; no garbage collection in between but Python's own."""
    for number in range(1, DUMPS[-1] + 1):
        step(number)
        if number in DUMPS:
            dump()
