"""The cache of decoded tiles holds 48 entries (methodtools.lru_cache(maxsize=48)); 6 new tiles a step: full by step 8."""
# looks like: a cache decorator on a method with tensors, misses all the time
# library: methodtools
# /// healthy
# dumps = "steps"
# ///
import random

import torch
import torch.nn as nn
from methodtools import lru_cache

torch.manual_seed(0)
random.seed(0)


class Slide:
    def __init__(self, tiles):
        self.tiles = tiles

    @lru_cache(maxsize=48)
    def tile(self, index):
        g = torch.Generator().manual_seed(index)
        raw = torch.rand(3, 64, 64, generator=g)
        return (raw - raw.mean()) / raw.std()


slide = Slide(100000)
net = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 225, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
recent = []
for step in range(80):
    fresh = [random.randrange(slide.tiles) for _ in range(6)]
    again = random.sample(recent, min(4, len(recent)))
    recent = (recent + fresh)[-24:]
    x = torch.stack([slide.tile(i) for i in fresh + again])
    y = torch.tensor([i % 2 for i in fresh + again])
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
