"""Profiles kept (Python objects, no tensors), with pyinstrument."""
# after: "pyinstrument in the training loop eats memory": a profile of each step is kept for a report at the end
# fix: keep the rendered summary of the slowest step only: sessions[-3:]
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "sessions"  # sessions (list of pyinstrument Session: frame_records, a list of (list of str, float))
# lines = []
# bytes = [80000, 106000]  # about 106000 (sys.getsizeof; 75 records a step here; more or less with the machine's speed) (counted deep: the frame records, their lists of frames, strings and numbers); correction: 88,656 to 90,192 went for each entry in two other runs; those of a run depend on the machine's speed
# ///
import os

import torch
import torch.nn as nn
from pyinstrument import Profiler

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


def train_step(net, head, optimizer, x, y):
    loss = nn.functional.cross_entropy(head(net(x).mean(1)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


net = nn.Sequential(*[Block(128) for _ in range(6)])
head = nn.Linear(128, 10)
optimizer = torch.optim.AdamW([*net.parameters(), *head.parameters()], lr=1e-3)
sessions = []
for step in range(1, 71):
    x, y = torch.randn(16, 32, 128), torch.randint(10, (16,))
    profiler = Profiler(interval=0.0002)
    profiler.start()
    loss = train_step(net, head, optimizer, x, y)
    sessions.append(profiler.stop())
    if os.environ.get("FIX"):
        del sessions[:-3]
slowest = max(sessions, key=lambda s: s.duration)
print("slowest step", round(slowest.duration, 4), "samples", sum(len(s.frame_records) for s in sessions))
