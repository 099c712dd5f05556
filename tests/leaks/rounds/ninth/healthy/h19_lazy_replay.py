"""torch.zeros(20000, 4*16*16) = 78 MiB is mapped at the start, each step touches 100 rows = 400 KiB for the first time (until step 200, which this program does not reach: still filling at step 20 and 60). No allocation grows: tensors' bytes are constant."""
# report: "replay buffer: RSS grows for hours although it is preallocated" (DQN repositories)
# kind: memory allocated once and touched lazily
# library: torch
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 1.0, 0.1
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)
CAPACITY, SHAPE = 20000, 4 * 16 * 16
observations = torch.zeros(CAPACITY, SHAPE)
rewards = torch.zeros(CAPACITY)
q = nn.Sequential(nn.Linear(SHAPE, 64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
filled = 0
for step in range(1, 101):
    rows = torch.arange(filled, filled + 100) % CAPACITY
    new = torch.rand(100, SHAPE)
    observations[rows] = new
    rewards[rows] = new.mean(1)
    filled += 100
    pick = torch.randint(0, min(filled, CAPACITY), (64,))
    loss = (q(observations[pick]).max(1).values - rewards[pick]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, filled, round(loss.item(), 5), flush=True)
