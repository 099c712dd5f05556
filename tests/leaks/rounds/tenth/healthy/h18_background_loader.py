"""Queue(10) of 64 x 300 float32: full at about step 15, where the consumer becomes slower than the loader."""
# about: A thread loads ahead into a bounded queue; the first steps are fast (the queue is empty), later the consumer is slow and it fills.
# report: "background prefetcher: RAM climbs until the queue is full"
# kind: producer thread, bounded queue
# library: queue, threading
# /// healthy
# dumps = "steps"
# ///
import queue
import threading
import time

import torch
from torch import nn


class Background:
    def __init__(self, n):
        self.queue = queue.Queue(10)
        self.thread = threading.Thread(target=self.fill, args=(n,), daemon=True)
        self.thread.start()

    def fill(self, n):
        g = torch.Generator().manual_seed(0)
        for _ in range(n):
            time.sleep(0.005)
            self.queue.put(torch.randn(64, 300, generator=g))
        self.queue.put(None)

    def __iter__(self):
        return iter(self.queue.get, None)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(300, 100), nn.GELU(), nn.Linear(100, 300))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, x in enumerate(Background(120), 1):
        loss = nn.functional.mse_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step > 3:
            time.sleep(0.03)
    print(loss.item())


if __name__ == "__main__":
    main()
