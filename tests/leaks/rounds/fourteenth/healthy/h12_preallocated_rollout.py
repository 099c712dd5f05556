"""A rollout store of 48 MiB is allocated at the start (torch.empty: fresh mmap, its pages are untouched) and a row of 384 KiB is written in each step, round and round after step 128: the resident set grows by 384 KiB a step at 20 to 60 (still filling at step 20), the allocated bytes are constant."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)


class Rollouts:
    def __init__(self, length, envs, dim):
        self.observations = torch.empty(length, envs, dim)
        self.position = 0

    def add(self, obs):
        self.observations[self.position % len(self.observations)].copy_(obs)
        self.position += 1

    def sample(self):
        k = torch.randint(0, min(self.position, len(self.observations)), ()).item()
        return self.observations[k]


store = Rollouts(128, 384, 256)
model = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 256))
optimizer = torch.optim.Adam(model.parameters())
for step in range(1, 181):
    store.add(torch.randn(384, 256))
    x = store.sample()
    loss = (model(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
