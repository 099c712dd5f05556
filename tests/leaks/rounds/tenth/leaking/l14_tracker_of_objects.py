"""Somebody hunts for a leak with Pympler, and the tracker is the leak: it was told to keep what it tracks."""
# kind: List within a debugging tool; objects with a tensor attribute, with pympler.
# after: "ClassTracker.track_object(keep=True) keeps objects alive" left in after debugging
# fix: `keep=False` (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "tracker._keepalive"  # `tracker._keepalive` (list of the Batch objects); `tracker.objects` and `tracker.index['Batch']` hold weak references only (checked: cutting these two frees nothing); `tracker.clear()`
# lines = ["self.x = torch.randn(128, 200, generator=g)"]
# bytes = 103424  # 128 x 200 float32 + 128 int64 labels = 102400 + 1024 a step; measured 101.0 KiB
# ///
import os

import torch
from pympler.classtracker import ClassTracker
from torch import nn

tracker = ClassTracker()


class Batch:
    def __init__(self, step):
        g = torch.Generator().manual_seed(step)
        self.x = torch.randn(128, 200, generator=g)
        self.y = torch.randint(8, (128,), generator=g)
        tracker.track_object(self, name="Batch", keep=not os.environ.get("FIX"))


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(200, 100), nn.ReLU(), nn.Linear(100, 8))
    opt = torch.optim.NAdam(model.parameters(), lr=1e-3)
    for step in range(1, 81):
        batch = Batch(step)
        loss = nn.functional.cross_entropy(model(batch.x), batch.y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("tracked", len(tracker.objects), "loss", loss.item())


if __name__ == "__main__":
    main()
