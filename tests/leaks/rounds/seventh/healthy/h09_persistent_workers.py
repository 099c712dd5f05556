"""Each worker's pool is a deque of maxlen 24 samples, full after the third batch of a worker; prefetch is bounded by prefetch_factor."""
# report: "DataLoader workers' memory rises": persistent workers, each keeps a pool of recent samples for mixup (bounded)
# library: torch.utils.data
# /// healthy
# dumps = "steps"
# ///
from collections import deque

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Mixup(Dataset):
    def __init__(self, n):
        self.n = n
        self.pool = deque(maxlen=24)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randn(3, 24, 24, generator=g)
        self.pool.append(x)
        return 0.7 * x + 0.3 * self.pool[0], i % 10


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 121, 10))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    loader = DataLoader(Mixup(16 * 22), batch_size=16, num_workers=2, persistent_workers=True, prefetch_factor=2)
    step = 0
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
        print(epoch, step, loss.item(), flush=True)
