"""Two workers, prefetch_factor 2; each worker caches 6 decoded files (bounded by the number of files), all seen by step 10."""
# report: "RSS grows with persistent_workers": workers start, prefetch 2 batches each, then constant
# looks like: a cache in the data set of the workers; several short epochs
# library: torch.utils.data
# /// healthy
# dumps = "steps"
# ///
import torch
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self):
        self.cache = {}

    def __len__(self):
        return 80

    def __getitem__(self, i):
        name = i % 6
        if name not in self.cache:
            g = torch.Generator().manual_seed(name)
            self.cache[name] = torch.randn(64, 64, generator=g)
        return self.cache[name] + 0.1 * torch.randn(64, 64)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Files(), batch_size=8, num_workers=2, persistent_workers=True, prefetch_factor=2, shuffle=True)
    net = torch.nn.Linear(64, 64)
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(7):
        for x in loader:
            loss = (net(x) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


if __name__ == "__main__":
    main()
