"""itertools.cycle over a DataLoader of a large data set."""
# kind: iterator of C (itertools.cycle) that saves what it has seen, with torch, itertools
# after: pytorch forum/issue 23900 kind "itertools.cycle(dataloader) leaks: it saves every batch"
# fix: a generator `while True: yield from loader` (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "stream"  # stream (itertools.cycle's saved list)
# lines = ["x, y = next(stream)"]  # torch's default_collate stacks the samples
# bytes = 65792  # x 32x512x4 = 65536, y 32x8 = 256: 65792; measured, bytes a step in 20..40, 40..60: tensors that gc sees 65792,65792, malloc in use 67126,66844, rss 72908,71475; with FIX: malloc 342,196, rss 1024,204 (an epoch has 300 batches: it stops growing far behind step 70)
# ///
import itertools
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    def __len__(self):
        return 9600

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(512, generator=g), i % 6


def forever(loader):
    while True:
        yield from loader


torch.manual_seed(0)
loader = DataLoader(Signals(), batch_size=32, shuffle=True)
stream = forever(loader) if os.environ.get("FIX") else itertools.cycle(loader)
model = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 6))
opt = torch.optim.SGD(model.parameters(), 0.05)
for step in range(70):
    x, y = next(stream)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
