"""Asyncio jobs that never end keep their batch, with aiojobs."""
# after: "aiojobs scheduler keeps jobs that wait for a client which never answers" (aiojobs/aiohttp: no timeout, limit=None)
# fix: asyncio.wait_for(reply, 0.01) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "scheduler._jobs"  # `scheduler._jobs` (job -> task -> coroutine frame: `scores`)
# lines = ["scores = net(batch)"]
# bytes = 94003  # 2.7 x (32 + 2) KiB = 91.8 KiB of tensor storages (measured: scores, batch); 99 KiB allocated bytes
# ///
import asyncio
import os

import aiojobs
import torch
import torch.nn as nn

from ask import at

torch.manual_seed(0)
net = nn.Linear(64, 1024).eval()


async def answer(batch, reply):
    with torch.no_grad():
        scores = net(batch)
    try:
        wanted = await (asyncio.wait_for(reply, 0.01) if os.environ.get("FIX") else reply)
    except asyncio.TimeoutError:
        return
    return scores[wanted]


async def main():
    scheduler = aiojobs.Scheduler(limit=None)
    loop = asyncio.get_running_loop()
    for i in range(1, 71):
        for client in range(4):
            reply = loop.create_future()
            await scheduler.spawn(answer(torch.randn(8, 64), reply))
            if client == 0 or i % 10 == 0:
                loop.call_soon(reply.set_result, 0)
        await asyncio.sleep(0.03)
        at(i)
    print(len(scheduler))
    await scheduler.close()


asyncio.run(main())
