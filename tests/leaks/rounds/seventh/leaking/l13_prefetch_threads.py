"""Blocked threads, bounded queues nobody reads, with threading, queue."""
# after: issues "threads pile up, one prefetcher per epoch": a generator with a background thread is left early (break), the thread blocks in queue.put for ever
# fix: a stop event that close() sets, and drain the queue
# /// leak
# dumps = "steps"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "Prefetcher.produce"  # each abandoned Prefetcher's thread: the blocked threads' frames (produce: batches, item) and their queue: thread -> Prefetcher.queue (maxsize 3) of each abandoned Prefetcher
# lines = ["item = torch.randn(size, 50)"]
# bytes = 40000  # (4 x 20,000 for each two steps; storages), and the stacks of threads
# ///
import os
import queue
import threading

import torch
import torch.nn as nn


class Prefetcher:
    """Makes batches in the background."""

    def __init__(self, n, size):
        self.queue = queue.Queue(maxsize=3)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.produce, args=(n, size), daemon=True)
        self.thread.start()

    def produce(self, n, size):
        for _ in range(n):
            item = torch.randn(size, 50)
            while not self.stop.is_set():
                try:
                    self.queue.put(item, timeout=0.2)
                    break
                except queue.Full:
                    continue
            if self.stop.is_set():
                return

    def __iter__(self):
        while True:
            yield self.queue.get()

    def close(self):
        self.stop.set()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
step = 0
for epoch in range(33):  # "epochs" of two steps: early stopping of each
    loader = Prefetcher(1000, 100)
    for i, x in enumerate(loader):
        loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        if i == 1:
            break
    if os.environ.get("FIX"):
        loader.close()
        loader.thread.join()
    if epoch % 10 == 0:
        print(epoch, step, loss.item(), threading.active_count(), flush=True)
