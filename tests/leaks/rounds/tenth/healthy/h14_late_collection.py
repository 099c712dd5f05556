"""What is there when the optimizer makes step 20, 40, 60 is the garbage of 7, 3 and 11 steps (96 x 300 x 4 = 115200 bytes each) and the live batch, never more than 12 steps."""
# about: Batches that refer to themselves, with the collector switched off and called every 12 steps, as large trainers do.
# report: "gc.disable() for speed, manual gc.collect every N steps: sawtooth of memory"
# kind: cyclic garbage, late collection
# library: torch
# /// healthy
# dumps = "steps"
# ///
import gc

import torch
from torch import nn


class Batch:
    def __init__(self):
        self.x = torch.randn(96, 300)
        self.views = [View(self, i) for i in range(3)]


class View:
    def __init__(self, batch, part):
        self.batch = batch
        self.part = part

    def rows(self):
        return self.batch.x[self.part::3]


def main():
    torch.manual_seed(0)
    gc.collect()
    gc.disable()
    model = nn.Sequential(nn.Linear(300, 100), nn.ELU(), nn.Linear(100, 300))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, 121):
        batch = Batch()
        opt.zero_grad()
        for view in batch.views:
            loss = nn.functional.mse_loss(model(view.rows()), view.rows())
            loss.backward()
        opt.step()
        if step % 12 == 0:
            gc.collect()
    gc.enable()
    print(loss.item())


if __name__ == "__main__":
    main()
