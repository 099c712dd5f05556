"""A dictionary with weak keys has plans by request, which do not refer to it; the last ten requests are kept to be repeated."""
# /// healthy
# dumps = "requests"
# ///
import collections
import random
import sys
import weakref

import torch


class Request:
    def __init__(self, seed):
        self.seed = seed


plans = weakref.WeakKeyDictionary()
recent = collections.deque(maxlen=10)
chance = random.Random(5)


def plan_of(request):
    if request not in plans:
        plans[request] = torch.full((128, 64), 0.01 * request.seed)
    return plans[request]


def answer(seed):
    if not recent or chance.random() < 0.7:
        recent.append(Request(seed))
    return (torch.randn(128, 64) + plan_of(chance.choice(recent))).mean().item()


for line in sys.stdin:
    print(answer(int(line)), flush=True)
