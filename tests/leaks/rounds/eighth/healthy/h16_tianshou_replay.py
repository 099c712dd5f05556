"""ReplayBuffer(size=120), 8 transitions a step: full at step 15."""
# report: "replay buffer grows": allocated at the first add, full at step 15, then overwritten
# looks like: numpy array that is allocated once and touched bit by bit
# library: tianshou
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import torch
from tianshou.data import Batch, ReplayBuffer

torch.manual_seed(0)
rng = np.random.default_rng(0)
buffer = ReplayBuffer(size=120)
q = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
opt = torch.optim.Adam(q.parameters())
for step in range(70):
    for _ in range(8):
        obs = rng.standard_normal(256).astype(np.float32)
        buffer.add(Batch(obs=obs, act=int(rng.integers(4)), rew=float(obs[0]), terminated=False, truncated=False, obs_next=obs * 0.9, info={}))
    batch, _ = buffer.sample(32)
    with torch.no_grad():
        target = torch.as_tensor(batch.rew).float() + 0.9 * q(torch.as_tensor(batch.obs_next)).max(1).values
    value = q(torch.as_tensor(batch.obs)).gather(1, torch.as_tensor(batch.act)[:, None].long())[:, 0]
    loss = (value - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(buffer))
