"""Threads blocked for ever; their queues and frames, with threading, queue."""
# after: "background loader thread never ends when I break out of the loop": a prefetch thread per validation, blocked in queue.put
# fix: close() after break: a flag that ends the thread and an emptied queue
# /// leak
# dumps = "steps"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "Prefetch.fill"  # threads that wait in put(): Prefetch.fill frame locals (batch) and self.queue (2 items). Clear by ending the threads
# lines = ["yield torch.rand(32, 3, 24, 24)"]
# bytes = [199065, 232244]  # 221184 (averaged) (3 batches of 32x3x24x24 float32 (221184 B each) stay per stuck thread: 2 in the queue and 1 in put; a validation on every 3rd step); correction: 13 threads of 3 batches from step 20 to 60, 6 or 7 from 40
# ///
import os
import queue
import threading
import time

import torch
import torch.nn as nn

torch.manual_seed(0)


def batches(n):
    for _ in range(n):
        yield torch.rand(32, 3, 24, 24)


class Prefetch:
    def __init__(self, source, depth=2):
        self.queue, self.stop = queue.Queue(depth), False
        self.thread = threading.Thread(target=self.fill, args=(source,), daemon=True)
        self.thread.start()

    def fill(self, source):
        for batch in source:
            while not self.stop:
                try:
                    self.queue.put(batch, timeout=0.2 if os.environ.get("FIX") else None)
                    break
                except queue.Full:
                    pass
            if self.stop:
                return
        self.queue.put(None)

    def __iter__(self):
        while (batch := self.queue.get()) is not None:
            yield batch


net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 121, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(1, 76):
    x, y = torch.rand(16, 3, 24, 24), torch.randint(10, (16,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 1:
        loader = Prefetch(batches(50))
        with torch.no_grad():
            for k, batch in enumerate(loader):
                confidence = net(batch).softmax(1).max(1).values.mean().item()
                if k == 1:
                    break            # limit_val_batches = 2
        if os.environ.get("FIX"):
            loader.stop = True
        time.sleep(0.02)
print("threads", threading.active_count(), round(confidence, 3))
