"""Work is given to threads by an event loop that never runs: what it is told of the finished futures waits in its queue."""
# python/cpython#85865: Potential memory leak with asyncio and run_in_executor
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "_ready"
# lines = ["return torch.outer("]
# bytes = 65536  # 128 x 128 floats
# ///
import asyncio
import concurrent.futures
import sys

import torch


def similarities(number):
    vector = torch.arange(128) / float(number + 1)
    return torch.outer(vector, vector)


loop = asyncio.new_event_loop()
pool = concurrent.futures.ThreadPoolExecutor(max_workers=1)
for line in sys.stdin:
    loop.run_in_executor(pool, similarities, int(line))
    pool.submit(int).result()  # one thread: the work before this is done
    print(line.strip(), flush=True)
pool.shutdown()
