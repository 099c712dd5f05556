"""Replay of whole episodes of a pettingzoo environment: deque(maxlen=12), full at step 12; each entry 8 steps x 2 agents of observations (tensors of 16 KiB an episode). Entries are replaced in every step."""
# library: pettingzoo
# /// healthy
# dumps = "steps"
# ///
from collections import deque
import numpy as np
import torch
from gymnasium import spaces
from pettingzoo import ParallelEnv
from torch import nn


class Pong(ParallelEnv):
    metadata = {"name": "pong_v0"}

    def __init__(self):
        self.possible_agents = ["left", "right"]
        self.observation_spaces = {a: spaces.Box(-9, 9, (256,)) for a in self.possible_agents}
        self.action_spaces = {a: spaces.Discrete(3) for a in self.possible_agents}

    def reset(self, seed=None, options=None):
        self.agents, self.t = list(self.possible_agents), 0
        return {a: np.random.randn(256).astype(np.float32) for a in self.agents}, {}

    def step(self, actions):
        self.t += 1
        obs = {a: np.random.randn(256).astype(np.float32) for a in self.agents}
        over = {a: self.t >= 8 for a in self.agents}
        return obs, {a: float(actions[a]) for a in self.agents}, over, over, {a: {} for a in self.agents}


np.random.seed(0)
torch.manual_seed(0)
env, replay = Pong(), deque(maxlen=12)
q = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 3))
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
for episode in range(1, 121):
    obs, _ = env.reset()
    states, rewards = [], []
    for _ in range(8):
        batch = torch.from_numpy(np.stack(list(obs.values())))
        with torch.no_grad():
            actions = q(batch).argmax(1)
        obs, reward, _, _, _ = env.step(dict(zip(env.agents, actions.tolist())))
        states.append(batch)
        rewards.append(torch.tensor(list(reward.values())))
    replay.append((torch.cat(states), torch.cat(rewards)))
    x, r = replay[np.random.randint(len(replay))]
    loss = (q(x).amax(1) - r).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(replay), loss.item())
