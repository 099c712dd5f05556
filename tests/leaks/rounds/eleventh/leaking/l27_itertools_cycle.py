"""Iterator of C that saves its items, with itertools, torch.utils.data."""
# after: "itertools.cycle(DataLoader) leaks": cycle keeps a copy of every batch of the first pass; the first pass over the stream does not end
# fix: a generator that starts the loader again: while True: yield from loader
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "stream"  # stream (itertools.cycle object, its saved list)
# lines = ["x, y = next(stream)"]
# bytes = 50304  # 50304 (batch: x 16x1x28x28 float32 = 50176 B and y 16 int64 = 128 B)
# ///
import itertools
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Augmented(Dataset):
    def __len__(self):
        return 60000

    def __getitem__(self, i):
        sample = torch.rand(1, 28, 28)
        return sample, i % 10


def forever(loader):
    while True:
        yield from loader


loader = DataLoader(Augmented(), batch_size=16, shuffle=True)
stream = forever(loader) if os.environ.get("FIX") else itertools.cycle(loader)
net = nn.Sequential(nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 144, 10))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(80):
    x, y = next(stream)
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
