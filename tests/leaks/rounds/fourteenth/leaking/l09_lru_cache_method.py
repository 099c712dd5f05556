"""Cache decorator, unbounded; torch only."""
# after: lru_cache on a method with tensors as arguments (hash by identity: every new batch is a miss)
# fix: maxsize=4 (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "Retriever.encode"  # Retriever.encode (functools.lru_cache): keys AND values; Retriever.encode.cache_clear()
# lines = ["return nn.functional.normalize(self.encoder(queries), dim=1)", "queries = torch.randn(24, 128)"]
# bytes = 24576  # 24,576 = queries 24x128x4 (key, made at `queries = torch.randn(24, 128)`) + result 24x128x4 (the first line); malloc 25,700
# ///
import functools
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
SIZE = 4 if os.environ.get("FIX") else None


class Retriever(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128))
        self.register_buffer("index", torch.randn(5000, 128))

    @functools.lru_cache(maxsize=SIZE)
    def encode(self, queries):
        return nn.functional.normalize(self.encoder(queries), dim=1)

    def search(self, queries, k=5):
        return (self.encode(queries) @ self.index.T).topk(k).indices


retriever = Retriever().eval()
with torch.inference_mode():
    for i in range(1, 701):
        queries = torch.randn(24, 128)
        hits = retriever.search(queries)
        again = retriever.search(queries, k=1)  # a hit of the cache
        at(i)
print(hits.shape, again.shape)
