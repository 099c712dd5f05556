"""Fills memory with tensors that are held in unusual ways, five places a part, and asks for more than there is. Arguments: a device,
then the part."""
import contextvars
import functools
import gc
import sys

import torch

DEVICE, PART = sys.argv[1], sys.argv[2]
MiB = 1 << 18  # elements


class Rope:
    table = None


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x.clone()
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient


@functools.lru_cache
def encode(key):
    return torch.zeros(12 * MiB, device=DEVICE)


def batches():
    batch = torch.zeros(9 * MiB, device=DEVICE)
    yield 1
    del batch


def fails():
    logits = torch.zeros(8 * MiB, device=DEVICE)
    raise ValueError(len(logits))


gc.disable()
request = contextvars.ContextVar("request")
if PART == "roots":
    request.set([torch.zeros(16 * MiB, device=DEVICE)])
    Rope.table = torch.zeros(14 * MiB, device=DEVICE)
    encode("a")
    waiting = batches()
    next(waiting)
    try:
        fails()
    except ValueError as error:
        failed = error
elif PART == "numbers":
    losses = [torch.zeros(5 * MiB, device=DEVICE) for _ in range(8)]
    sparse = {number: torch.zeros(6 * MiB, device=DEVICE) for number in (0, 3, 9)}
    nested = [[torch.zeros(4 * MiB, device=DEVICE) for _ in range(2)] for _ in range(2)]
    größe = [torch.zeros(12 * MiB, device=DEVICE)]
    alone = torch.zeros(10 * MiB, device=DEVICE)
elif PART == "graph":
    weight = torch.zeros(16 * MiB, device=DEVICE, requires_grad=True)
    weight.sum().backward()
    scaled = Scale.apply(torch.zeros(12 * MiB, device=DEVICE, requires_grad=True))
    middle = torch.sigmoid(torch.zeros((9 * MiB,), device=DEVICE, requires_grad=True))
    kept = middle.exp()
    del middle
elif PART == "backward":
    left = torch.zeros(256, 12 * 1024, device=DEVICE, requires_grad=True)
    right = torch.zeros(12 * 1024, 512, device=DEVICE, requires_grad=True)
    product = left @ right
    padding = torch.zeros(10 * MiB, device=DEVICE)
    product.backward(torch.ones_like(product))
    extra = torch.zeros(5 * MiB, device=DEVICE)
try:
    torch.empty(1 << 40, device=DEVICE)
    sys.exit("there was memory for 4 TiB")
except RuntimeError:
    print("caught")
