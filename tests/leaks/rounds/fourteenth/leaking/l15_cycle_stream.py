"""C object of itertools (list inside cycle); IterableDataset without end."""
# after: itertools.cycle(loader): keeps every batch to repeat it
# fix: def forever(loader): while True: yield from loader (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "batches"  # batches (itertools.cycle's saved list)
# lines = ["x, y = next(batches)"]
# bytes = 18528  # 18,528 = 96x48x4 + 96 (bool); made in DataLoader's collate, called at this line; malloc 19,500
# ///
import itertools
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(1)
        for _ in range(100_000):
            x = torch.randn(48, generator=g)
            yield x, x.sum() > 0


def forever(loader):
    while True:
        yield from loader


torch.manual_seed(0)
loader = DataLoader(Stream(), batch_size=96)
batches = forever(loader) if os.environ.get("FIX") else itertools.cycle(loader)
model = nn.Sequential(nn.Linear(48, 200), nn.ReLU(), nn.Linear(200, 2))
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
for step in range(1, 151):
    x, y = next(batches)
    loss = nn.functional.cross_entropy(model(x), y.long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
