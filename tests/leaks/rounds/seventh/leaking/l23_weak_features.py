"""Weak-key map whose values refer to the keys, with torch.utils.weak."""
# after: issue "WeakTensorKeyDictionary entries never go": features are cached weakly by their input, but the value's graph has the input saved
# fix: store features.detach()
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "cache.data"  # cache (WeakTensorKeyDictionary: cache.data values; the value's grad_fn saves the key)
# lines = ["out = torch.tanh(encoder(x))", "monitor = features(encoder, torch.randn(100, 64)).mean()"]
# bytes = 76800  # tanh 51,200, x 25,600; storages
# ///
import os

import torch
import torch.nn as nn
from torch.utils.weak import WeakTensorKeyDictionary

cache = WeakTensorKeyDictionary()


def features(encoder, x):
    if x not in cache:
        out = torch.tanh(encoder(x))
        cache[x] = out.detach() if os.environ.get("FIX") else out
        return out
    return cache[x]


torch.manual_seed(0)
encoder = nn.Linear(64, 128)
head = nn.Linear(128, 2)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)
for step in range(66):
    x = torch.randn(100, 64)
    y = torch.randint(0, 2, (100,))
    z = features(encoder, x)
    loss = nn.functional.cross_entropy(head(z), y)
    penalty = features(encoder, x).detach().pow(2).mean()  # a hit
    monitor = features(encoder, torch.randn(100, 64)).mean()  # never goes through backward
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), penalty.item(), len(cache), flush=True)
