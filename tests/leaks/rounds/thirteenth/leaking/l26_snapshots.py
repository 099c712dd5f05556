"""The weights after each step are kept for a plot of the trajectory."""
# kind: list of dicts of copies on an object, with torch
# after: "state_dict deep copies fill RAM" (loss landscape / trajectory PCA)
# fix: keep the last 5 (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "tracker.snapshots"
# lines = ["self.snapshots.append((step, copy.deepcopy(model.state_dict("]
# bytes = 32480  # 60x100x4 + 100x4 + 100x20x4 + 20x4 = 24000 + 400 + 8000 + 80 = 32480; measured, bytes a step in 20..40, 40..60: tensors that gc sees 32480,32480, malloc in use 34148,34320, rss 40755,41369; with FIX: malloc 324,165, rss 0,1638
# ///
import copy
import os
import torch
from torch import nn

torch.manual_seed(0)


class Tracker:
    def __init__(self):
        self.snapshots = []

    def add(self, step, model):
        self.snapshots.append((step, copy.deepcopy(model.state_dict())))
        if os.environ.get("FIX"):
            del self.snapshots[:-5]

    def distance(self):
        first, last = self.snapshots[0][1], self.snapshots[-1][1]
        return sum(float((first[k] - last[k]).pow(2).sum()) for k in first) ** 0.5


model = nn.Sequential(nn.Linear(60, 100), nn.ReLU(), nn.Linear(100, 20))
opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
tracker = Tracker()
for step in range(70):
    x = torch.randn(64, 60)
    loss = nn.functional.mse_loss(model(x), x[:, :20])
    opt.zero_grad()
    loss.backward()
    opt.step()
    tracker.add(step, model)
    if step % 20 == 0:
        print(step, loss.item(), tracker.distance())
