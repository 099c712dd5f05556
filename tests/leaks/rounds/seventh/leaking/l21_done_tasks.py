"""Set of asyncio tasks, with asyncio."""
# after: asyncio "keep a reference to the task" done wrong: tasks are added to a set and never discarded; done tasks keep their result
# fix: task.add_done_callback(self.tasks.discard)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "service.tasks"  # service.tasks (set of Task; each done task has its result)
# lines = ["return {\"states\": states.half(), \"n\": series.shape[1]}"]
# bytes = 76800  # 4 x 100 x 96 float16; storages
# ///
import asyncio
import os

import torch
import torch.nn as nn
from ask import at


class Service:
    def __init__(self):
        self.model = nn.GRU(16, 96, batch_first=True).eval()
        self.tasks = set()

    async def infer(self, series):
        await asyncio.sleep(0)
        with torch.inference_mode():
            states, last = self.model(series)
        return {"states": states.half(), "n": series.shape[1]}

    def submit(self, series):
        task = asyncio.create_task(self.infer(series))
        self.tasks.add(task)
        if os.environ.get("FIX"):
            task.add_done_callback(self.tasks.discard)
        return task


async def main():
    torch.manual_seed(0)
    service = Service()
    for request in range(1, 71):
        answer = await service.submit(torch.randn(4, 100, 16))
        await asyncio.sleep(0)
        if request % 20 == 0:
            print(request, answer["states"].float().mean().item(), len(service.tasks), flush=True)
        at(request)


asyncio.run(main())
