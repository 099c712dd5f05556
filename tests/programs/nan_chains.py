"""Chains of operations on tensors of 10,000 elements, each until its values overflow. Numpy, which is no operation of torch,
looks at every result: the first operation with one that is not finite is told on standard output."""

import random
import sys

import numpy
import torch

SHAPE = (100, 100)


def in_part(x, y):
    x = x.clone()
    x[10:40].mul_(4096)
    return x


def by_columns(x, y):
    x = x.clone()
    x.t()[3].mul_(-65536)
    return x


OPERATIONS = {
    "mul": lambda x, y: x * y,
    "mul number": lambda x, y: x * 77.5,
    "mul_": lambda x, y: x.clone().mul_(y),
    "mul expanded": lambda x, y: x * y[:1].clone(),
    "add": lambda x, y: torch.add(x, y, alpha=1e6),
    "sub": lambda x, y: x - 1e4 * y,
    "div": lambda x, y: x / 0.002,
    "div tensor": lambda x, y: x / y,
    "square": lambda x, y: x.square(),
    "pow": lambda x, y: x ** 3,
    "neg": lambda x, y: -x,
    "gelu": lambda x, y: torch.nn.functional.gelu(x, approximate="tanh"),
    "tanh": lambda x, y: x.tanh() * y,
    "softmax": lambda x, y: x.softmax(-1) * 1e5,
    "log_softmax": lambda x, y: x.log_softmax(-1),
    "dropout": lambda x, y: torch.nn.functional.dropout(x, 0.25),
    "matmul": lambda x, y: x @ y,
    "layer_norm": lambda x, y: torch.nn.functional.layer_norm(x, SHAPE[1:]) * 1e3,
    "exp": lambda x, y: (x / 1e3).exp() + x,
    "copy": lambda x, y: torch.empty_like(x).copy_(x),
    "half": lambda x, y: x.to(torch.bfloat16).float(),
    "in part": in_part,
    "by columns": by_columns,
}


def chains(seed):
    for chain in range(20):
        rng = random.Random(1000 * seed + chain)
        torch.manual_seed(chain)
        x, y = torch.randn(SHAPE), torch.randn(SHAPE) + 8
        for number in range(60):
            name = rng.choice(list(OPERATIONS))
            print(f"begins {chain}.{number} {name}", file=sys.stderr, flush=True)
            x = OPERATIONS[name](x, y)
            if not numpy.isfinite(x.numpy()).all():
                print(f"{chain}.{number} {name}", flush=True)
                return


def outside(how):
    """Something else than an operation of torch writes a NaN into a result."""
    x = torch.randn(SHAPE) * 2 + 1
    if how == "numpy":
        x.numpy()[3, 4] = numpy.nan
    else:
        x.view(torch.int32).bitwise_or_(0x7F800000)
    y = x * 3
    print(float(y.sum()))


if sys.argv[1] == "chains":
    chains(int(sys.argv[2]))
else:
    outside(sys.argv[1])
