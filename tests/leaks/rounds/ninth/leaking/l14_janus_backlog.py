"""Unbounded queue between asyncio and a thread, with janus."""
# after: "asyncio loader feeds a training thread through janus.Queue(); RAM grows as the loader is faster" (unbounded queue)
# fix: janus.Queue(maxsize=8)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ["queue._queue", "queue._parent._queue"]  # queue._queue (deque of a janus.Queue without maxsize)
# lines = ["batch = torch.randn(64, 256)"]
# bytes = 65536  # 2 batches put for each one taken: 1 batch of 64*256*4 = 64 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 64.0, 64.0; all malloc'd 66.2, 65.2 (with FIX: 0.0, 0.0; 1.6, 0.3)
# ///
import asyncio
import os
import threading
import janus
import torch
from torch import nn

torch.manual_seed(0)
STEPS = 100
model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
ticket = threading.Semaphore(0)


def train(queue):
    for step in range(1, STEPS + 1):
        x = queue.get()
        loss = (model(x)[:, 0] - x.mean(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ticket.release()
        if step % 25 == 0:
            print(step, round(loss.item(), 4), "waiting:", queue.qsize(), flush=True)


async def load(queue):
    for step in range(STEPS):
        for _ in range(2):  # the source sends two batches in the time of one step
            batch = torch.randn(64, 256)
            try:
                queue.put_nowait(batch)
            except janus.AsyncQueueFull:
                pass  # dropped
        await asyncio.to_thread(ticket.acquire)


async def main():
    queue = janus.Queue(maxsize=8 if os.environ.get("FIX") else 0)
    trainer = asyncio.create_task(asyncio.to_thread(train, queue.sync_q))
    await load(queue.async_q)
    await trainer
    queue.close()
    await queue.wait_closed()


asyncio.run(main())
