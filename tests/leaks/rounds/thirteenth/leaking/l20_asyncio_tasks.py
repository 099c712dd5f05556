"""Background tasks are added to a set and never discarded."""
# kind: finished asyncio tasks that keep results, with torch, asyncio
# after: asyncio docs' "keep a reference to the task" done by half: no add_done_callback(tasks.discard)
# fix: task.add_done_callback(background.discard) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "background"  # background (set of finished tasks: task.result())
# lines = ["scores = model(batch).softmax(1)"]
# bytes = 51200  # softmax output 128x100x4 = 51200; measured, bytes a step in 20..40, 40..60: tensors that gc sees 51200,51200, malloc in use 52081,51892, rss 52633,53043; with FIX: malloc 568,177, rss 409,409
# ///
import asyncio
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(40, 80), nn.GELU(), nn.Linear(80, 100)).eval()
background = set()
totals = []


async def score(batch):
    await asyncio.sleep(0)
    with torch.inference_mode():
        scores = model(batch).softmax(1)
    totals.append(float(scores.max()))
    del totals[:-10]
    return scores


async def main():
    for i in range(1, 71):
        task = asyncio.create_task(score(torch.randn(128, 40)))
        background.add(task)
        if os.environ.get("FIX"):
            task.add_done_callback(background.discard)
        await asyncio.sleep(0.005)
        await asyncio.sleep(0)
        if i % 20 == 0:
            print(i, "best", max(totals), "tasks", len(background))
        at(i)


asyncio.run(main())
