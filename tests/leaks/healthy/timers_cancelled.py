"""A workflow's state is in a context variable; the timer that was set meanwhile, with a copy of the context, is cancelled after it."""
# /// healthy
# dumps = "requests"
# ///
import asyncio
import contextvars
import sys

import torch

running = contextvars.ContextVar("running")


class Workflow:
    def __init__(self, number):
        self.memory = torch.full((64, 128), float(number))

    async def answer(self):
        await asyncio.sleep(0)
        return self.memory.mean().item()


def expire():
    pass


async def handle(number):
    workflow = Workflow(number)
    running.set(workflow)
    timer = asyncio.get_running_loop().call_later(3600, expire)
    try:
        return await workflow.answer()
    finally:
        timer.cancel()


async def serve():
    while line := sys.stdin.readline():
        print(await asyncio.create_task(handle(int(line))), flush=True)


asyncio.run(serve())
