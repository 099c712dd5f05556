"""Bytes in a list of a key-value store, with fakeredis."""
# after: "Redis replay queue grows without bound, actors push faster" (ape-x style issues), here with fakeredis in tests
# fix: r.ltrim("replay", -64, -1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holders = ["r.", "_db._dict"]  # r (FakeRedis), key "replay": the server's database, dbs[0]["replay"] list
# lines = []
# bytes = 34239  # 34103..34374, mean 34239 by malloc (4 values of 64*33*4 = 33792 bytes)
# ///
import os
import fakeredis
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
r = fakeredis.FakeRedis()
policy = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 4))
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)


def act(n):
    obs = torch.randn(n, 32)
    with torch.no_grad():
        a = policy(obs).argmax(1)
    return torch.cat([obs, a[:, None].float()], 1).numpy().tobytes()


def sample(k):
    idx = np.random.randint(0, r.llen("replay"), k)
    rows = [np.frombuffer(r.lindex("replay", int(j)), dtype=np.float32).reshape(-1, 33) for j in idx]
    return torch.from_numpy(np.concatenate(rows))


for step in range(64):
    for actor in range(4):
        r.rpush("replay", act(64))
    if os.environ.get("FIX"):
        r.ltrim("replay", -64, -1)
    batch = sample(8)
    loss = nn.functional.cross_entropy(policy(batch[:, :32]), batch[:, 32].long())
    opt.zero_grad()
    loss.backward()
    opt.step()
