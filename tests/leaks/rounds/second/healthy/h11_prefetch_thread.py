"""A generator with a prefetch thread and a queue of at most 8 batches, two buffers used in turns for the copy to "the device"."""
# bytes a step: 0 (at most 8 + 1 waiting batches * 64*1024*4 = 262,144 B, buffers 2 * 262,144 B)
# /// healthy
# dumps = "steps"
# ///
import queue
import threading

import torch
from torch import nn

torch.manual_seed(0)


def prefetch(source, depth=8):
    box = queue.Queue(maxsize=depth)
    end = object()

    def work():
        for item in source:
            box.put(item)
        box.put(end)

    threading.Thread(target=work, daemon=True).start()
    while (item := box.get()) is not end:
        yield item


def batches(n):
    for number in range(n):
        x = torch.randn(64, 1024)
        yield number, x


buffers = [torch.empty(64, 1024), torch.empty(64, 1024)]
model = nn.Sequential(nn.Linear(1024, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
for number, host in prefetch(batches(66)):
    device = buffers[number % 2]
    device.copy_(host)
    loss = (model(device) - device[:, :1]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
