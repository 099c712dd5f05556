"""A ring buffer of 24 MiB allocated once, with torch.zeros (pages are touched when they are first written: rss grows until step 75, allocated bytes do not)."""
# looks like: the process grows by 0.3 MiB each step; still being touched at step 60, but bounded by its allocation
# library: torch only
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)
CAP = 75 * 256
obs_buf = torch.zeros(CAP, 300)
act_buf = torch.zeros(CAP, dtype=torch.long)
pos = 0
q = nn.Sequential(nn.Linear(300, 64), nn.ReLU(), nn.Linear(64, 6))
opt = torch.optim.Adam(q.parameters(), lr=1e-4)
for step in range(64):
    obs = torch.randn(256, 300)
    with torch.no_grad():
        act = q(obs).argmax(1)
    i = pos % CAP
    obs_buf[i:i + 256], act_buf[i:i + 256] = obs, act
    pos += 256
    idx = torch.randint(0, min(pos, CAP), (64,))
    loss = (q(obs_buf[idx]).gather(1, act_buf[idx, None])[:, 0] - 1.0).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
