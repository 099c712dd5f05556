"""Steps whose batches come from two workers of a loader, of which the second keeps all it made. Arguments: how workers are started
(fork, spawn, forkserver), and whether they leak."""
import sys

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Shards(IterableDataset):
    def __init__(self, leaks):
        self.leaks = leaks
        self.kept = []

    def __iter__(self):
        while True:
            record = torch.ones(1 << 18)
            if self.leaks and get_worker_info().id == 1:
                self.kept.append(record)
            yield record[:64].clone()


def main(start, leaks):
    loader = DataLoader(Shards(leaks == "leaks"), batch_size=4, num_workers=2, prefetch_factor=2, multiprocessing_context=start)
    model = torch.nn.Linear(64, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    stream = iter(loader)
    for _ in range(60):
        loss = model(next(stream)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
