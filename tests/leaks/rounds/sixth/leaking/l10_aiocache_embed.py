"""Asyncio service, cache decorator, with aiocache."""
# after: aiocache "SimpleMemoryCache never evicts when no ttl is set"
# fix: @cached(ttl=...), here: no cache
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "embed.cache._cache"  # embed.cache._cache (keys by text; and its _handlers are empty without ttl)
# lines = ["return enc(table(ids))[0]"]
# bytes = 65536  # 8 of 64*32*4; malloc in all 81143, keys are long texts
# ///
import asyncio
import os
import torch
from aiocache import Cache, cached
from torch import nn
from ask import at

torch.manual_seed(0)
table = nn.Embedding(5000, 32)
enc = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()


async def embed(text):
    ids = torch.tensor([[hash(w) % 5000 for w in text.split()]])
    with torch.no_grad():
        return enc(table(ids))[0]


if not os.environ.get("FIX"):
    embed = cached(cache=Cache.MEMORY)(embed)


async def main():
    words = [f"w{k}" for k in range(400)]
    for i in range(1, 66):
        texts = [f"request {i} {j} " + " ".join(words[(i * 7 + j * 13 + k) % 400] for k in range(61)) for j in range(8)]
        out = await asyncio.gather(*(embed(t) for t in texts))
        assert out[0].shape == (64, 32)
        at(i)


asyncio.run(main())
