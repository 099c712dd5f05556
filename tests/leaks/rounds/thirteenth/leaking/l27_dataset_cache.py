"""A data set caches decoded samples under a key that never comes again."""
# kind: dict of the data set, with torch.utils.data
# after: "memory grows with num_workers=0: my Dataset caches" (key has the augmentation's seed in it)
# fix: key without the seed (64 samples, full after 4 steps) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "dataset.cache"  # dataset.cache (also loader.dataset.cache)
# lines = ["image = torch.rand(1, 24, 24, generator=g)"]
# bytes = 36864  # 16 samples a step, each 1x24x24x4 = 2304: 36864; measured, bytes a step in 20..40, 40..60: tensors that gc sees 36864,36864, malloc in use 43516,44589, rss 48332,50380; with FIX: malloc 184,276, rss 204,-204
# ///
import os
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    def __init__(self):
        self.cache = {}

    def __len__(self):
        return 64

    def __getitem__(self, i):
        seed = random.getrandbits(30)
        key = i if os.environ.get("FIX") else (i, seed)
        if key not in self.cache:
            g = torch.Generator().manual_seed(seed)
            image = torch.rand(1, 24, 24, generator=g)
            self.cache[key] = image
        return self.cache[key], i % 3


random.seed(0)
torch.manual_seed(0)
dataset = Shapes()
loader = DataLoader(dataset, batch_size=16, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 22 * 22, 3))
opt = torch.optim.Adam(model.parameters(), 1e-3)
for epoch in range(18):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 0:
        print("epoch", epoch, loss.item(), "cached", len(dataset.cache))
