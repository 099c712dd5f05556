"""Timers of an event loop; context variables, with asyncio, contextvars."""
# after: "asyncio server leaks contextvars": each request schedules its clean-up with loop.call_later(3600, ...); the timer keeps the context
# fix: handle.cancel() when the request is answered (and current.reset)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "_scheduled"  # loop._scheduled (heap of TimerHandle, ._context -> ContextVar current)
# lines = ["request.embedding = model(tokens)"]
# bytes = 65536  # 65536 (embedding 64x256 float32 = 65536 B)
# ///
import asyncio
import contextvars
import os

import torch
import torch.nn as nn
from ask import at

torch.manual_seed(0)
current = contextvars.ContextVar("current")
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256)).eval()
expired = set()


class Request:
    def __init__(self, number):
        self.number = number


async def embed(tokens):
    request = current.get()
    with torch.no_grad():
        request.embedding = model(tokens)
    await asyncio.sleep(0)
    return request.embedding.norm(dim=1).mean().item()


async def handle(number):
    current.set(Request(number))
    timer = asyncio.get_running_loop().call_later(3600, expired.add, number)
    answer = await embed(torch.randn(64, 128))
    if os.environ.get("FIX"):
        timer.cancel()
        current.set(None)
    return answer


async def main():
    answers = []
    for number in range(1, 71):
        answers.append(await asyncio.create_task(handle(number)))
        await asyncio.sleep(0.001)
        at(number)
    print(len(answers), round(sum(answers), 2))


asyncio.run(main())
