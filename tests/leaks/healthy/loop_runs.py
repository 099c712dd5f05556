"""Work is given to threads by an event loop that runs until the result of each request is there; three results are read ahead."""
# /// healthy
# dumps = "requests"
# ///
import asyncio
import collections
import concurrent.futures
import sys

import torch


def similarities(number):
    vector = torch.arange(128) / float(number + 1)
    return torch.outer(vector, vector)


loop = asyncio.new_event_loop()
pool = concurrent.futures.ThreadPoolExecutor(max_workers=1)
waiting = collections.deque()
for line in sys.stdin:
    while len(waiting) < 4:
        waiting.append(loop.run_in_executor(pool, similarities, int(line)))
    print(loop.run_until_complete(waiting.popleft()).mean().item(), flush=True)
pool.shutdown()
loop.close()
