"""The best 5 checkpoints in a heap, one offered every 7 steps: 2 at dump 20, 5 at dump 40 (full at step 35), 5 at dump 60."""
# bytes: one checkpoint (128*256+256 + 256*8+8)*4 = 140,320 B every 7 steps until step 35, then a worse one goes for each that comes
# /// healthy
# dumps = "steps"
# ///
import copy
import heapq

import torch
from torch import nn

torch.manual_seed(0)
KEEP = 5
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 8))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
best = []


def offer(score, step):
    entry = (score, step, copy.deepcopy(model.state_dict()))
    if len(best) < KEEP:
        heapq.heappush(best, entry)
    elif score > best[0][0]:
        heapq.heapreplace(best, entry)


hold_x = torch.randn(256, 128)
hold_y = hold_x[:, :8].argmax(1)
for step in range(1, 67):
    x = torch.randn(64, 128)
    loss = nn.functional.cross_entropy(model(x), x[:, :8].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 7 == 0:
        with torch.no_grad():
            score = -nn.functional.cross_entropy(model(hold_x), hold_y).item()
        offer(score, step)
print("best", sorted((round(s, 4), n) for s, n, _ in best))
