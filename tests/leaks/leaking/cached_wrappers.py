"""A decorator caches its wrappers by function: each request decorates a function of its own, whose closure has a tensor."""
# pytorch/pytorch#134272: [dynamo] Cache _dynamo.disable results
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "wrappers"
# lines = ["bias = "]
# bytes = 32768  # 128 x 64 floats
# ///
import functools
import sys

import torch

wrappers = {}


def without_compiling(function):
    if function not in wrappers:
        @functools.wraps(function)
        def wrapper(*arguments):
            return function(*arguments)
        wrappers[function] = wrapper
    return wrappers[function]


def attention(seed):
    torch.manual_seed(seed)
    bias = torch.rand(128, 64)

    @without_compiling
    def add_bias(scores):
        return scores + bias

    return add_bias(torch.rand(128, 64)).softmax(-1).max().item()


for line in sys.stdin:
    print(attention(int(line)), flush=True)
