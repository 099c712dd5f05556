"""prefetch_factor 2 batches a worker, queue.Queue(maxsize=4) that blocks; the workers keep nothing."""
# about: A DataLoader with 2 workers that live over all epochs, and a bounded queue to a writer thread.
# kind: workers, prefetch, bounded queue
# looks like: threads, child processes and queues with tensors
# library: torch.utils.data
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 480,487, rss 2048,2048, rss of children 614,1433
# /// healthy
# dumps = "steps"
# ///
import queue
import threading
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(256, generator=g), i % 4


def write(pending):
    while True:
        item = pending.get()
        if item is None:
            return
        float(item.std())


def main():
    torch.manual_seed(0)
    loader = DataLoader(Noise(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True, prefetch_factor=2)
    model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    pending = queue.Queue(maxsize=4)
    writer = threading.Thread(target=write, args=(pending,))
    writer.start()
    for epoch in range(7):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            pending.put(model[0].weight.grad.clone())
        print("epoch", epoch, loss.item())
    pending.put(None)
    writer.join()


if __name__ == "__main__":
    main()
