"""Two workers with prefetch_factor 4; each worker keeps a cache of 40 samples (OrderedDict, full after 40 of about 16 a step)."""
# looks like: child processes whose memory warms up; batches in shared memory that wait
# library: torch.utils.data (persistent workers, prefetch)
# /// healthy
# dumps = "steps"
# ///
from collections import OrderedDict
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self):
        self.cache = OrderedDict()

    def __len__(self):
        return 16 * 32

    def __getitem__(self, k):
        if k not in self.cache:
            if len(self.cache) >= 40:
                self.cache.popitem(last=False)
            g = torch.Generator().manual_seed(k)
            self.cache[k] = torch.randn(3, 32, 32, generator=g)
        return self.cache[k], k % 4


def main():
    torch.manual_seed(0)
    loader = DataLoader(Samples(), 16, shuffle=True, num_workers=2, prefetch_factor=4, persistent_workers=True)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()


if __name__ == "__main__":
    main()
