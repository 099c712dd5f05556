"""A thread that prepares batches into a queue of eight."""
# /// healthy
# dumps = "requests"
# ///
import queue
import sys
import threading

import torch

batches = queue.Queue(maxsize=8)


def produce():
    while True:
        batches.put(torch.randn(64, 256))


threading.Thread(target=produce, daemon=True).start()
for line in sys.stdin:
    print(batches.get().mean().item(), flush=True)
