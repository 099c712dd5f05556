"""lrucache(12); full after a few steps (3 new ids a step), before step 10."""
# report: "my feature cache grows" (pylru cache of 12 entries, hit by random patch ids)
# looks like: a dict of tensors that are created in all steps.
# library: pylru
# /// healthy
# dumps = "steps"
# ///
import pylru
import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Conv2d(3, 16, 3, stride=2)
head = nn.Linear(16, 5)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
cache = pylru.lrucache(12)


def features(i):
    if i not in cache:
        g = torch.Generator().manual_seed(i)
        with torch.no_grad():
            cache[i] = backbone(torch.randn(1, 3, 64, 64, generator=g))
    return cache[i]


for step in range(1, 71):
    ids = torch.randint(0, 100, (4,)).tolist()
    x = torch.cat([features(i) for i in ids]).mean((2, 3))
    loss = nn.functional.cross_entropy(head(x), torch.tensor([i % 5 for i in ids]))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(cache))
