"""asyncio.Queue(6) between a fast producer and a slow consumer (aiostream): full from step 3 on, then always 6 batches of 16 KiB (and one in the producer's hand)."""
# library: aiostream
# /// healthy
# dumps = "asks"
# ///
import asyncio
import torch
from aiostream import stream
from torch import nn
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 16)).eval()


async def produce(queue):
    while True:
        await queue.put(torch.randn(32, 128))
        await asyncio.sleep(0.002)


async def drain(queue):
    while True:
        yield await queue.get()


async def main():
    queue = asyncio.Queue(6)
    producer = asyncio.create_task(produce(queue))
    scores = []
    async with stream.take(drain(queue), 160).stream() as batches:
        async for x in batches:
            with torch.no_grad():
                scores.append(model(x).mean().item())
            await asyncio.sleep(0.01)
            at(len(scores))
    producer.cancel()
    print(len(scores), queue.qsize())


asyncio.run(main())
