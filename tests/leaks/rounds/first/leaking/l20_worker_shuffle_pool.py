"""A pool for shuffling, in the workers of a loader, is only ever filled."""
# after: pytorch/pytorch: growth in the workers of a DataLoader, as in #13246
# fix: swap-and-pop: yield a random entry and replace it by the new record; pool of bounded size
# /// leak
# dumps = "steps"
# kinds = ["child-processes"]
# holder = "pool"
# lines = ["record = rng.standard_normal(4096)"]
# bytes = 131072  # 4 records of 4,096 float64, arrays of numpy; the two workers together
# ///
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Shards(IterableDataset):
    def __iter__(self):
        rng = np.random.default_rng(get_worker_info().id)
        pool = []
        while True:
            record = rng.standard_normal(4096)
            pool.append(record)
            chosen = pool[rng.integers(len(pool))]
            yield torch.from_numpy(chosen[:64]).float()


def main():
    torch.manual_seed(0)
    loader = DataLoader(Shards(), batch_size=4, num_workers=2, prefetch_factor=2)
    model = nn.Linear(64, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    stream = iter(loader)
    for step in range(66):
        x = next(stream)
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
