"""Requests are batched through a queue that is as good as unbounded; more come than the model answers."""
# deep-learning-with-pytorch/dlwpt-code#26: Memory leak in asyncio operation
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "queue"
# lines = ["image = torch.randn("]
# bytes = 49152  # of two images of 3 x 64 x 64 floats one is answered
# ///
import asyncio
import sys

import torch
from torch import nn


class ModelRunner:
    def __init__(self, model):
        self.model, self.queue = model, asyncio.Queue(maxsize=100000)

    async def process_input(self):
        image = torch.randn(3, 64, 64)
        await self.queue.put({"input": image, "time": asyncio.get_running_loop().time()})

    @torch.no_grad()
    async def answer(self):
        task = await self.queue.get()
        return self.model(task["input"]).mean().item()


async def serve():
    runner = ModelRunner(nn.Conv2d(3, 4, 3))
    while await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        await asyncio.gather(runner.process_input(), runner.process_input())
        print(await runner.answer(), flush=True)


asyncio.run(serve())
