"""Asyncio.Queue(maxsize=8) between a fast producer and a slow consumer; results are cached for 0.2 s with a ttl."""
# looks like: queue full all the time, a cache that gets a new key each step, timers of the event loop
# library: aiocache (ttl and bounded), asyncio
# /// healthy
# dumps = "asks"
# ///
import asyncio
import torch
from aiocache import SimpleMemoryCache
from torch import nn
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).eval()
cache = SimpleMemoryCache()


async def producer(q):
    for i in range(1, 67):
        await q.put((i, torch.randn(64, 64)))
    await q.put(None)


async def consumer(q):
    while (item := await q.get()) is not None:
        i, x = item
        with torch.no_grad():
            z = net(x)
        await cache.set(f"z{i}", z, ttl=0.2)
        prev = await cache.get(f"z{i - 1}")
        if prev is not None:
            z = 0.5 * (z + prev)
        await asyncio.sleep(0.05)
        at(i)


async def main():
    q = asyncio.Queue(maxsize=8)
    await asyncio.gather(producer(q), consumer(q))


asyncio.run(main())
