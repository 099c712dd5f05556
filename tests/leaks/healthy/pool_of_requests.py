"""A pool of threads works ahead: eight futures at most wait, and each is dropped with its result when it was read."""
# /// healthy
# dumps = "requests"
# ///
import collections
import concurrent.futures
import sys
import threading

import torch
from torch import nn

encoder = nn.Linear(64, 64).requires_grad_(False)
scratch = threading.local()


def work(number):
    if not hasattr(scratch, "block"):
        scratch.block = torch.empty(256, 64)
    scratch.block.normal_()
    return encoder(scratch.block)


with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
    waiting = collections.deque()
    for number, line in enumerate(sys.stdin):
        while len(waiting) < 8:
            waiting.append(pool.submit(work, number))
        print(waiting.popleft().result().mean().item(), flush=True)
