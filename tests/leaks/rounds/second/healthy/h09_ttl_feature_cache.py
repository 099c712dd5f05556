"""cachetools.TTLCache with the step as its clock: a feature lives 12 steps, keys never repeat."""
# bytes a step: 0 between the dumps (12 entries * 64*256*4 = 65,536 B)
# /// healthy
# dumps = "steps"
# ///
import cachetools
import torch
from torch import nn

torch.manual_seed(0)
now = 0
features = cachetools.TTLCache(maxsize=10_000, ttl=12, timer=lambda: now)
backbone = nn.Linear(32, 256)
head = nn.Linear(256, 4)
opt = torch.optim.SGD(head.parameters(), lr=1e-2)


def feature(key, x=None):
    if key not in features:
        with torch.no_grad():
            features[key] = torch.relu(backbone(x))
    return features[key]


def recent(step):
    return [feature(f"user-{n}") for n in range(max(step - 5, 0), step)]


for step in range(66):
    now = step
    fresh = feature(f"user-{step}", torch.randn(64, 32))
    loss = head(fresh).square().mean()
    for old in recent(step):
        loss = loss + 0.1 * (head(old) - 1).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "alive", len(features))
