"""Masks are kept in a dictionary by the number of their tensor; a finalizer of the tensor removes the entry. Six batches are kept."""
# /// healthy
# dumps = "requests"
# ///
import collections
import itertools
import sys
import weakref

import torch

attributes = {"mask": {}}
numbers = itertools.count()


class Tokens:
    def __init__(self, tokens):
        self.tokens, self.number = tokens, next(numbers)


def set_attribute(owner, name, value):
    attributes[name][owner.number] = value
    weakref.finalize(owner, attributes[name].pop, owner.number)


def embed(seed):
    torch.manual_seed(seed)
    batch = Tokens(torch.randint(0, 4, (16, 4096)))
    set_attribute(batch, "mask", batch.tokens != 0)
    recent.append(batch)
    return (batch.tokens * attributes["mask"][batch.number]).float().mean().item()


recent = collections.deque(maxlen=6)
for line in sys.stdin:
    print(embed(int(line)), flush=True)
