"""A dictionary with weak keys has plans by request, and each plan refers to its request: no key ever goes."""
# python/cpython#88846: Reference cycles from a WeakKeyDictionary value to its key aren't collected
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "plans"
# lines = ["self.positions = "]
# bytes = 32768  # 128 x 64 floats
# ///
import sys
import weakref

import torch


class Request:
    def __init__(self, seed):
        self.seed = seed


class Plan:
    def __init__(self, request):
        self.request = request
        self.positions = torch.full((128, 64), 0.01 * request.seed)


plans = weakref.WeakKeyDictionary()


def plan_of(request):
    if request not in plans:
        plans[request] = Plan(request)
    return plans[request]


def answer(seed):
    request = Request(seed)
    return (torch.randn(128, 64) + plan_of(request).positions).mean().item()


for line in sys.stdin:
    print(answer(int(line)), flush=True)
