"""torch.empty buffer for the whole run, one row filled at each step (pages are touched one after another)."""
# bytes a step: 0 allocated; the resident memory grows by 64*1024*4 = 262,144 B a step until the buffer (100 rows) is full
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)


class History:
    def __init__(self, rows, shape):
        self.data = torch.empty(rows, *shape)
        self.used = 0

    def add(self, value):
        self.data[self.used % len(self.data)].copy_(value)
        self.used += 1

    def mean(self):
        return self.data[: self.used].mean().item()


history = History(100, (64, 1024))
model = nn.Linear(16, 1024)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(66):
    out = model(torch.randn(64, 16))
    loss = out.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.add(out.detach())
print("mean", history.mean(), history.used)
