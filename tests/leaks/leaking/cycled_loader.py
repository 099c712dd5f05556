"""itertools.cycle makes a loader endless, and keeps every batch of the first pass for the next ones."""
# pytorch/pytorch#23900: Memory leak when using itertools.cycle
# bytedance/UNO#64: Memory Leak When Using itertools.cycle(dataloader) in Training Loop
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "batches"
# lines = ["loss = model(next(batches))"]
# bytes = 24576  # 8 x 3 x 16 x 16 floats
# ///
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, index):
        return torch.randn(3, 16, 16)


model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4))
model(torch.zeros(1, 3, 16, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = itertools.cycle(DataLoader(Images(), batch_size=8))
for step in range(60):
    loss = model(next(batches)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
