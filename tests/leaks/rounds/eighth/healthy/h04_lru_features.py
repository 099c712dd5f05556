"""LRU(12); full at step 12; evicted entries are freed."""
# report: "feature cache per document grows": it is an LRU with 12 entries
# looks like: cache[key] = tensor with a new key in each step, C extension
# library: lru-dict
# /// healthy
# dumps = "steps"
# ///
import torch
from lru import LRU

torch.manual_seed(0)
cache = LRU(12)
encoder = torch.nn.Linear(32, 256)
head = torch.nn.Linear(256, 1)
opt = torch.optim.Adam(head.parameters())


def features(doc):
    if doc not in cache:
        g = torch.Generator().manual_seed(doc)
        with torch.no_grad():
            cache[doc] = encoder(torch.randn(64, 32, generator=g))
    return cache[doc]


for step in range(70):
    docs = [step, max(0, step - 2)]
    loss = sum(head(features(d)).pow(2).mean() for d in docs)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(cache), cache.get_stats())
