"""functools.lru_cache on a method: the cache lives with the class and keeps every self, and the result."""
# after: PyCQA/flake8-bugbear: B019
# fix: functools.cached_property, or cache on the instance
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "Clip.envelope"
# lines = ["self.wave = torch.randn(24_576)"]
# bytes = 110592  # 24,576 floats of Clip.wave (98,304), 96 x 32 of the result (12,288)
# ///
import functools

import torch
from torch import nn

torch.manual_seed(0)


class Clip:
    def __init__(self, name):
        self.name = name
        self.wave = torch.randn(24_576)

    @functools.lru_cache(maxsize=None)
    def envelope(self):
        return self.wave.abs().view(96, 32, 8).amax(-1)

    def batch(self):
        return self.envelope().mean(0, keepdim=True)


model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)


def train_on(clip):
    loss = model(clip.batch()).square().mean() + 0.1 * clip.envelope().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for step in range(66):
    value = train_on(Clip(f"clip{step}"))
print("loss", value, Clip.envelope.cache_info())
