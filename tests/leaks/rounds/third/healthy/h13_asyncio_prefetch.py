"""asyncio: a producer task runs ahead through a bounded queue (maxsize 6) that is full all the time; tasks end and are discarded."""
# /// healthy
# dumps = "asks"
# ///
import asyncio
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

encoder = torch.nn.Linear(256, 64).requires_grad_(False)


async def produce(queue):
    while True:
        await queue.put(torch.randn(64, 256))


async def encode(x, results):
    await asyncio.sleep(0)
    results.append(encoder(x).mean().item())


async def main():
    queue, results, running = asyncio.Queue(maxsize=6), [], set()
    producer = asyncio.create_task(produce(queue))
    for step in range(1, 67):
        task = asyncio.create_task(encode(await queue.get(), results))
        running.add(task)
        task.add_done_callback(running.discard)
        if len(running) >= 4:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        at(step)
    await asyncio.gather(*running)
    producer.cancel()
    print(len(results), round(sum(results), 4))


asyncio.run(main())
