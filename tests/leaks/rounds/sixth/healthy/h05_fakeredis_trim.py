"""The replay list is trimmed to 32 entries (16 KiB each), full at step 8; a hash of statistics has one entry for each actor."""
# looks like: bytes pushed in each step
# library: fakeredis
# /// healthy
# dumps = "steps"
# ///
import fakeredis
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
r = fakeredis.FakeRedis()
policy = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 4))
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
for step in range(64):
    for actor in range(4):
        obs = torch.randn(128, 32)
        r.rpush("replay", obs.numpy().tobytes())
        r.hset("stats", f"actor{actor}", float(obs.mean()))
    r.ltrim("replay", -32, -1)
    rows = [r.lindex("replay", int(j)) for j in np.random.randint(0, r.llen("replay"), 4)]
    x = torch.from_numpy(np.concatenate([np.frombuffer(b, dtype=np.float32) for b in rows]).reshape(-1, 32).copy())
    loss = policy(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
