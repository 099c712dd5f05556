"""A sliding window of keys and values that has reached its length."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch


class SlidingCache:
    def __init__(self, length=16):
        self.length, self.keys, self.values = length, torch.zeros(length, 256), torch.zeros(length, 256)

    def update(self, key, value):
        self.keys = torch.cat([self.keys, key])[-self.length:].clone()
        self.values = torch.cat([self.values, value])[-self.length:].clone()
        return self.keys, self.values


caches = [SlidingCache() for _ in range(4)]
for line in sys.stdin:
    x = torch.randn(1, 256)
    for cache in caches:
        keys, values = cache.update(x, x.tanh())
        x = (x @ keys.T).softmax(1) @ values
    print(x.mean().item(), flush=True)
