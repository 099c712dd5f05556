"""prefetch_factor 6 and the ParallelMapper's own bound (2 in flight); full after the first step."""
# about: Torchdata's nodes: samples are mapped by threads and prefetched; the trainer is slow at first, so the queues fill.
# report: "torchdata prefetcher memory increases in the first steps"
# kind: prefetcher, bounded queues and threads
# library: torchdata
# /// healthy
# dumps = "steps"
# ///
import time

import torch
from torch import nn
from torchdata.nodes import Batcher, IterableWrapper, Loader, ParallelMapper, Prefetcher


class Seeds:
    def __iter__(self):
        return iter(range(10**6))


def load(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(400, generator=g)


def main():
    torch.manual_seed(0)
    node = ParallelMapper(IterableWrapper(Seeds()), map_fn=load, num_workers=2, method="thread", max_concurrent=2)
    node = Prefetcher(Batcher(node, 32), prefetch_factor=6)
    loader = Loader(node)
    model = nn.Sequential(nn.Linear(400, 50), nn.ReLU(), nn.Linear(50, 400))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step, rows in enumerate(loader, 1):
        x = torch.stack(rows)
        loss = nn.functional.mse_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step < 20:
            time.sleep(0.05)
        if step == 100:
            break
    print(loss.item())


if __name__ == "__main__":
    main()
