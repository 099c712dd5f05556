"""Cache(16): TinyLFU evicts; full at step 2 or so (8 keys a request, most of them new). Tensors 16 x 32 x 128 x 4 = 256 KiB at most."""
# about: A service that caches embeddings of documents; thousands of keys, 16 places.
# report: "is my embedding cache leaking? every request adds a key"
# kind: bounded cache of a library
# library: theine
# /// healthy
# dumps = "asks"
# ///
import random

import torch
from theine import Cache
from torch import nn

from ask import at

torch.set_num_threads(1)


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    cache = Cache(16)
    net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128)).eval()
    hits = 0

    def embed(doc):
        nonlocal hits
        vector, found = cache.get(doc)
        if found:
            hits += 1
            return vector
        g = torch.Generator().manual_seed(doc)
        with torch.no_grad():
            vector = net(torch.randn(32, 64, generator=g))
        cache.set(doc, vector)
        return vector

    for i in range(1, 201):
        docs = [rng.choice((rng.randrange(6), rng.randrange(10**6))) for _ in range(8)]
        torch.stack([embed(d).mean(0) for d in docs]).norm()
        at(i)
    print("hits", hits, "size", len(cache))
    cache.close()


if __name__ == "__main__":
    main()
