"""Allocated once (48 MiB), pages become resident as they are written (320 KiB a step until step 150): no more is allocated. rss grows in all 66 steps."""
# report: "replay buffer: memory rises for hours": a ring of torch.empty is allocated at the start and touched step by step
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn


class Ring:
    def __init__(self, capacity, width):
        self.data = torch.empty(capacity, width)
        self.capacity, self.at, self.size = capacity, 0, 0

    def push(self, rows):
        n = len(rows)
        self.data[self.at:self.at + n] = rows
        self.at = (self.at + n) % self.capacity
        self.size = min(self.size + n, self.capacity)

    def sample(self, n):
        return self.data[torch.randint(0, self.size, (n,))]


torch.manual_seed(0)
ring = Ring(96000, 128)
critic = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(66):
    ring.push(torch.randn(640, 128))
    x = ring.sample(128)
    loss = (critic(x).squeeze(1) - x.sum(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), ring.size, flush=True)
