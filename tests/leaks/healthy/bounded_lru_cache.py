"""lru_cache with room for sixteen embeddings, asked for more."""
# /// healthy
# dumps = "requests"
# ///
import functools
import sys

import torch


@functools.lru_cache(maxsize=16)
def embedding(word):
    return torch.randn(64, 64)


for line in sys.stdin:
    print(embedding(line).sum().item(), flush=True)
