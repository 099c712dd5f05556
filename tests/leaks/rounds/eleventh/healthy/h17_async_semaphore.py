"""At most 5 requests run at a time (semaphore); a producer that is faster waits; the pending set never has more than 5 tasks."""
# looks like: tasks with tensors in their frames pile up in a set
# library: asyncio
# /// healthy
# dumps = "asks"
# ///
import asyncio

import torch
import torch.nn as nn
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64)).eval()


async def infer(gate, x, done):
    try:
        with torch.no_grad():
            z = model(x)
        await asyncio.sleep(0.03)
        done.append(z.norm().item())
    finally:
        gate.release()


async def main():
    gate, tasks, done = asyncio.Semaphore(5), set(), []
    for i in range(1, 101):
        for _ in range(2):
            await gate.acquire()
            task = asyncio.create_task(infer(gate, torch.randn(64, 128), done))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        del done[:-50]
        at(i)
    await asyncio.gather(*tasks)
    print(len(done), round(sum(done), 1))


asyncio.run(main())
