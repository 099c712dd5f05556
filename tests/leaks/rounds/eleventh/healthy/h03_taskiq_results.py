"""The in-memory broker of taskiq keeps the last 100 results; 8 tasks a step: full by step 13; older ones are dropped."""
# looks like: results with tensors pile up in broker.result_backend.results
# library: taskiq
# /// healthy
# dumps = "asks"
# ///
import asyncio

import torch
import torch.nn as nn
from ask import at
from taskiq import InMemoryBroker

torch.manual_seed(0)
broker = InMemoryBroker()
encoder = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 96)).eval()


@broker.task
async def encode(seed: int):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        z = encoder(torch.randn(32, 64, generator=g))
    return {"seed": seed, "vectors": z}


async def main():
    await broker.startup()
    total = 0.0
    for step in range(1, 71):
        tasks = [await encode.kiq(step * 8 + k) for k in range(8)]
        for task in tasks:
            result = await task.wait_result(timeout=5)
            total += result.return_value["vectors"].norm().item()
        at(step)
    await broker.shutdown()
    print(round(total, 2))


asyncio.run(main())
