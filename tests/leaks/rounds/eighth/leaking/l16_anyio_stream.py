"""Unbounded queue of an async library, with anyio."""
# after: issue "memory object stream with max_buffer_size=inf grows: consumer slower than producer"
# fix: consumer takes all that is there (FIX)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = ["send._state.buffer", "receive._state.buffer"]  # `send._state.buffer` (deque of the memory object stream; `receive._state.buffer` is the same)
# lines = ["await send.send(encoder(torch.randn(64, 30)))"]
# bytes = 15360  # producer 2 items a step, consumer 1: 64 x 60 x 4 = 15360 a step stay; measured 15360 15360 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import math
import os
import anyio
import torch
from ask import at

torch.manual_seed(0)
encoder = torch.nn.Linear(30, 60)


async def produce(send):
    with torch.inference_mode():
        for _ in range(2):
            await send.send(encoder(torch.randn(64, 30)))  # LEAK
            await anyio.sleep(0)


async def consume(receive, n):
    total = 0.0
    for _ in range(n):
        item = await receive.receive()
        total += item.mean().item()
    return total


async def main():
    send, receive = anyio.create_memory_object_stream(math.inf)
    for step in range(1, 71):
        await produce(send)
        await consume(receive, 2 if os.environ.get("FIX") else 1)
        at(step)
    print(send.statistics().current_buffer_used)


anyio.run(main)
