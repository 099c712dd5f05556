"""The buffer is filled to 200 samples of 12 KiB before the first batch, then one goes out for each one that comes in."""
# report: "IterableDataset with a shuffle buffer: RAM rises at the start"
# kind: shuffle buffer of a stream
# library: torch.utils.data
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.8, 0.3
# /// healthy
# dumps = "steps"
# ///
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(0)
random.seed(0)


class Stream(IterableDataset):
    def __iter__(self):
        while True:
            image = torch.rand(3, 32, 32)
            yield image, int(image.mean((1, 2)).argmax())


class Shuffled(IterableDataset):
    def __init__(self, source, size):
        self.source, self.size = source, size

    def __iter__(self):
        buffer = []
        for sample in self.source:
            if len(buffer) < self.size:
                buffer.append(sample)
                continue
            k = random.randrange(self.size)
            buffer[k], sample = sample, buffer[k]
            yield sample


loader = DataLoader(Shuffled(Stream(), 200), batch_size=16)
model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step, (x, y) in enumerate(loader, 1):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4), flush=True)
    if step == 120:
        break
