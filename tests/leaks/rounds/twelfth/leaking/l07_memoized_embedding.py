"""Cache of a decorator, unbounded by default, with memoization."""
# after: "@cached without max_size: memory of the service grows with every new query" (memoization README asks for max_size; service threads)
# fix: @cached(max_size=16) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "embed."  # closure of `embed`: the decorator's cache (`embed.cache_clear()`)
# lines = ["return encoder(ids)[0]"]
# bytes = 49152  # 3 x 16 KiB = 48 KiB of tensor storages (measured); 53.4 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn
from memoization import cached

from ask import at

torch.manual_seed(0)
encoder = nn.Sequential(nn.EmbeddingBag(1000, 128), nn.Linear(128, 4096), nn.Tanh())
encoder.eval()


@cached(max_size=16 if os.environ.get("FIX") else None)
def embed(query):
    ids = torch.tensor([sum(map(ord, w)) % 1000 for w in query.split()]).unsqueeze(0)
    with torch.no_grad():
        return encoder(ids)[0]


popular = [f"how do I reset my {w}" for w in ("phone", "router", "pump")]
total = 0.0
for i in range(1, 71):
    for q in popular + [f"order {i * 7 + k} was late by {k} days" for k in range(3)]:
        total += embed(q).sum().item()
    at(i)
print(total, embed.cache_info())
