"""A ring buffer of fixed size (cpprb, numpy memory made at the start, its pages touched as they are first written, until step 12: 256 places, 24 a step; full from step 11 on)."""
# looks like: process memory grows during the first steps while samples are added
# library: cpprb
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import torch
import torch.nn as nn
from cpprb import ReplayBuffer

torch.manual_seed(0)
np.random.seed(0)
SIZE = 256
buffer = ReplayBuffer(SIZE, {"obs": {"shape": (4, 32, 32)}, "act": {"shape": 2}, "rew": {}, "next_obs": {"shape": (4, 32, 32)}, "done": {}})
actor = nn.Sequential(nn.Flatten(), nn.Linear(4096, 64), nn.ReLU(), nn.Linear(64, 2), nn.Tanh())
critic = nn.Sequential(nn.Linear(4096 + 2, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
obs = np.random.rand(4, 32, 32).astype(np.float32)
for step in range(80):
    for _ in range(24):
        with torch.no_grad():
            act = actor(torch.from_numpy(obs)[None])[0].numpy() + 0.1 * np.random.randn(2)
        nxt = np.roll(obs, 1, 2) + 0.01 * np.random.randn(4, 32, 32).astype(np.float32)
        done = np.random.rand() < 0.02
        buffer.add(obs=obs, act=act, rew=-abs(act).sum(), next_obs=nxt, done=done)
        if done:
            buffer.on_episode_end()
        obs = np.random.rand(4, 32, 32).astype(np.float32) if done else nxt
    batch = buffer.sample(16)
    o, a = torch.tensor(batch["obs"]), torch.tensor(batch["act"])
    q = critic(torch.cat([o.flatten(1), a], 1))
    loss = nn.functional.mse_loss(q, torch.tensor(batch["rew"])) - critic(torch.cat([o.flatten(1), actor(o)], 1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(buffer.get_stored_size())
