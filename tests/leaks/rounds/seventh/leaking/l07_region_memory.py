"""Cache decorator of a library, with dogpile.cache."""
# after: dogpile.cache "memory backend never evicts": embeddings are cached by a function decorator, the key contains the request's id
# fix: region.delete / expiration does not help with the memory backend; embed.invalidate(id) after the request
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "region.backend._cache"  # region.backend._cache (dict of dogpile.cache.memory; CachedValue.payload)
# lines = ["return states.mul(0.5)"]
# bytes = 51200  # 200 x 64 float32; storages
# ///
import os

import torch
import torch.nn as nn
from dogpile.cache import make_region
from ask import at

region = make_region().configure("dogpile.cache.memory", expiration_time=3600)
torch.manual_seed(0)
encoder = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
words = nn.Embedding(1000, 64)


@region.cache_on_arguments(namespace="embeddings")
def embed(document):
    g = torch.Generator().manual_seed(document)
    tokens = torch.randint(0, 1000, (1, 200), generator=g)
    with torch.inference_mode():
        states = encoder(words(tokens))
        return states.mul(0.5)


with torch.inference_mode():
    for request in range(1, 71):
        a = embed(request)
        b = embed(request)  # a hit
        score = torch.cosine_similarity(a.mean(1), b.mean(1)).item()
        if os.environ.get("FIX"):
            embed.invalidate(request)
        if request % 20 == 0:
            print(request, score, flush=True)
        at(request)
