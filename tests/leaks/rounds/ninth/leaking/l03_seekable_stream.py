"""Iterator of a library that keeps all items that it gave, with more-itertools."""
# after: "wrapped the endless data stream in seekable() to go back two batches; RAM grows" (more-itertools warns of it in its docs)
# fix: seekable(..., maxlen=4)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "stream._cache"  # stream._cache (list)
# lines = ["images = torch.rand(batch, 3, 16, 16, generator=gen)"]
# bytes = 98560  # 32*3*16*16*4 = 96 KiB of images + 32*8 = 256 B of labels a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 96.2, 96.2; all malloc'd 98.5, 98.0 (with FIX: 0.0, 0.0; 0.8, 0.2)
# ///
import os
import torch
from torch import nn
from more_itertools import seekable

torch.manual_seed(0)


def endless(batch=32):
    gen = torch.Generator().manual_seed(1)
    while True:
        images = torch.rand(batch, 3, 16, 16, generator=gen)
        labels = (images.mean((1, 2, 3)) > 0.5).long()
        yield images, labels


stream = seekable(endless(), maxlen=4) if os.environ.get("FIX") else seekable(endless())
model = nn.Sequential(nn.Flatten(), nn.Linear(768, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
best = float("inf")
for step in range(1, 121):
    images, labels = next(stream)
    loss = nn.functional.cross_entropy(model(images), labels)
    if loss.item() > 2 * best:  # a bad batch: look at the two before it again
        stream.relative_seek(-2)
    best = min(best, loss.item())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 3), flush=True)
