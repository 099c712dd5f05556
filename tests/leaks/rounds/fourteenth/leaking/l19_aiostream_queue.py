"""Queue in coroutines (generator drain, task producer); aiostream."""
# after: a fast producer and an unbounded asyncio.Queue
# fix: asyncio.Queue(8) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "queue._queue"  # queue (asyncio.Queue._queue), local of main, produce and drain
# lines = ["await queue.put(torch.randn(32, 128))"]
# bytes = [14746, 18022]  # about 16,384 (32x128x4; one batch more than is taken a step: depends on time, measured 16,384); malloc 17,000
# ///
import asyncio
import os
import torch
from aiostream import stream
from torch import nn
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 16)).eval()


async def produce(queue):
    while True:
        for _ in range(2):
            await queue.put(torch.randn(32, 128))
        await asyncio.sleep(0.01)


async def drain(queue):
    while True:
        yield await queue.get()


async def main():
    queue = asyncio.Queue(8 if os.environ.get("FIX") else 0)
    producer = asyncio.create_task(produce(queue))
    scores, i = [], 0
    async with stream.take(drain(queue), 160).stream() as batches:
        async for x in batches:
            i += 1
            with torch.no_grad():
                scores.append(model(x).mean().item())
            await asyncio.sleep(0.01)  # the downstream service
            at(i)
    producer.cancel()
    print(len(scores), "done,", queue.qsize(), "waiting")


asyncio.run(main())
