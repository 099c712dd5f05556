"""A cache of masks by size: eight sizes, all seen in the first requests."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch

masks = {}


def mask(size):
    if size not in masks:
        masks[size] = torch.ones(64, 64, size).tril()
    return masks[size]


for line in sys.stdin:
    print(mask(8 + int(line) % 8).sum().item(), flush=True)
