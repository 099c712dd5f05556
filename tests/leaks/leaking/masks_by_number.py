"""Masks are attributes of tensors, kept in a dictionary by the number of the tensor; nothing removes an entry when its tensor goes."""
# keras-team/keras#20374: Fix `set_tensor_attr` bug related to garbage collection.
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "attributes"
# lines = ["return tokens != 0"]
# bytes = 65536  # 16 x 4096 bytes
# ///
import itertools
import sys

import torch

attributes = {}
numbers = itertools.count()


class Tokens:
    def __init__(self, tokens):
        self.tokens, self.number = tokens, next(numbers)


def set_attribute(owner, name, value):
    attributes.setdefault(name, {})[owner.number] = value


def compute_mask(tokens):
    return tokens != 0


def embed(seed):
    torch.manual_seed(seed)
    batch = Tokens(torch.randint(0, 4, (16, 4096)))
    set_attribute(batch, "mask", compute_mask(batch.tokens))
    return (batch.tokens * attributes["mask"][batch.number]).float().mean().item()


for line in sys.stdin:
    print(embed(int(line)), flush=True)
