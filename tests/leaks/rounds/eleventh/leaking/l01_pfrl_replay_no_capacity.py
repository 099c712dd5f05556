"""Unbounded replay buffer of a library, observations are tensors, with pfrl."""
# after: "DQN memory keeps growing until the node kills it": pfrl's ReplayBuffer made without capacity (default None = unlimited)
# fix: ReplayBuffer(capacity=64)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "replay.memory"  # replay.memory (pfrl.collections.RandomAccessQueue of lists of transition dicts: keys state, next_state, action, reward)
# lines = ["obs = torch.randn(16, 64)"]
# bytes = 16589  # 16589 (malloc in use 18200) (4 env steps a training step, each one new observation of 16x64 float32 = 4096 B; action and reward are Python numbers)
# ///
import os
import random

import torch
import torch.nn as nn
from pfrl.replay_buffers import ReplayBuffer

torch.manual_seed(0)


class Env:
    def reset(self):
        return torch.zeros(16, 64)

    def step(self, action):
        obs = torch.randn(16, 64)
        return obs, float(obs[0, action]), random.random() < 0.02


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, x):
        return self.body(x)


env, q = Env(), QNet()
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
replay = ReplayBuffer(capacity=64) if os.environ.get("FIX") else ReplayBuffer()
state = env.reset()
for update in range(80):
    for _ in range(4):
        with torch.no_grad():
            action = int(q(state[None]).argmax())
        nxt, reward, done = env.step(action)
        replay.append(state=state, action=action, reward=reward, next_state=nxt, is_state_terminal=done)
        state = env.reset() if done else nxt
    batch = [t[0] for t in replay.sample(min(16, len(replay)))]
    s = torch.stack([t["state"] for t in batch])
    n = torch.stack([t["next_state"] for t in batch])
    r = torch.tensor([t["reward"] for t in batch])
    a = torch.tensor([t["action"] for t in batch])
    with torch.no_grad():
        target = r + 0.99 * q(n).max(1).values
    loss = nn.functional.mse_loss(q(s).gather(1, a[:, None])[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("transitions", len(replay))
