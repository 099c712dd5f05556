"""Finalizers that know the number of a constant only: it goes at the end of its request, and the finalizer with it."""
# /// healthy
# dumps = "requests"
# ///
import sys
import weakref

import torch


class RefTracker:
    def __init__(self):
        self.names = {}

    def track(self, constant):
        self.names[id(constant)] = f"constant_{len(self.names)}"
        weakref.finalize(constant, self.forget, id(constant))

    def forget(self, number):
        del self.names[number]


def export(tracker, seed):
    torch.manual_seed(seed)
    constant = torch.rand(64, 64)
    tracker.track(constant)
    return constant.sum().item()


tracker = RefTracker()
for line in sys.stdin:
    print(export(tracker, int(line)), flush=True)
