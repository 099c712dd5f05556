"""A workflow puts its state into a context variable; a timer that is set meanwhile, for much later, keeps a copy of the context."""
# run-llama/llama-agents#485: [Bug]: Memory leak: AgentWorkflow stores heavy objects in ContextVar, pinned by asyncio task Context snapshots
# run-llama/llama-agents#486: Fix memory leak from copied RunContext
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "_scheduled"
# lines = ["self.memory = "]
# bytes = 32768  # 64 x 128 floats
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


class Connector:
    def close_unused(self):
        pass

    def connect(self):
        asyncio.get_running_loop().call_later(3600, self.close_unused)


async def handle(number):
    workflow = Workflow(number)
    running.set(workflow)
    connector.connect()
    return await workflow.answer()


async def serve():
    while line := sys.stdin.readline():
        print(await asyncio.create_task(handle(int(line))), flush=True)


connector = Connector()
asyncio.run(serve())
