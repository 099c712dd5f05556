"""put() blocks at 6 batches; full in the first steps, since the producer is faster."""
# report: "the prefetch thread fills RAM" (queue with maxsize=6)
# library: torch, threading
# /// healthy
# dumps = "steps"
# ///
import queue
import threading

import torch
import torch.nn as nn

torch.manual_seed(0)
todo = queue.Queue(maxsize=6)


def produce():
    g = torch.Generator().manual_seed(0)
    for _ in range(70):
        todo.put(torch.randn(64, 3, 32, 32, generator=g))
    todo.put(None)


thread = threading.Thread(target=produce, daemon=True)
thread.start()
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
while (batch := todo.get()) is not None:
    loss = (net(batch) - batch).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
thread.join()
print(loss.item())
