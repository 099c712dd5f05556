"""A decorator that caches the wrappers of the last sixteen functions: closures of earlier requests go."""
# /// healthy
# dumps = "requests"
# ///
import collections
import functools
import sys

import torch

wrappers = collections.OrderedDict()


def without_compiling(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    wrappers[function] = wrapper
    if len(wrappers) > 16:
        wrappers.popitem(last=False)
    return wrapper


def attention(seed):
    torch.manual_seed(seed)
    bias = torch.rand(128, 64)

    @without_compiling
    def add_bias(scores):
        return scores + bias

    return add_bias(torch.rand(128, 64)).softmax(-1).max().item()


for line in sys.stdin:
    print(attention(int(line)), flush=True)
