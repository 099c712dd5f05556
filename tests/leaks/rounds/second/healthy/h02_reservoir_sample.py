"""Reservoir sampling (experience replay of continual learning): 32 places, full at step 32, then replaced with falling probability."""
# bytes a step: until step 32 24,576*4 = 98,304 B, then 0 (a place is overwritten)
# /// healthy
# dumps = "steps"
# ///
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)


class Reservoir:
    def __init__(self, size):
        self.size = size
        self.seen = 0
        self.places = []

    def offer(self, item):
        self.seen += 1
        if len(self.places) < self.size:
            self.places.append(item)
            return
        place = random.randrange(self.seen)
        if place < self.size:
            self.places[place] = item

    def pick(self, n):
        return random.choices(self.places, k=n)


reservoir = Reservoir(32)
model = nn.Sequential(nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(66):
    x = torch.randn(128, 192)
    y = x.mean(1, keepdim=True)
    reservoir.offer((x, y))
    loss = (model(x) - y).square().mean()
    for old_x, old_y in reservoir.pick(2):
        loss = loss + 0.5 * (model(old_x) - old_y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "seen", reservoir.seen, "kept", len(reservoir.places))
