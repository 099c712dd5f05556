"""Autograd graph after its backward: nodes with few saved storages; pettingzoo."""
# after: saved entropies of a policy are never cleared (log probs are)
# fix: p.entropies.clear() (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache", "graph-nodes"]
# holder = ".entropies"  # policies[*].entropies (two agents: policies['runner'].entropies, policies['chaser'].entropies)
# lines = ["self.entropies.append(dist.entropy())", "dist = Categorical(logits=self.net(torch.from_numpy(obs).uns"]
# bytes = [640, 170000]  # (graph made at `dist = Categorical` and at the first line) 640 of tensor storages measured that are left (the network's saved tensors were freed by backward); the graph's nodes (192 a step) and tensor objects: malloc 170,000 (upper end and what the process really loses)
# ///
import os
import numpy as np
import torch
from gymnasium import spaces
from pettingzoo import ParallelEnv
from torch import nn
from torch.distributions import Categorical


class Tag(ParallelEnv):
    metadata = {"name": "tag_v0"}

    def __init__(self):
        self.possible_agents = ["runner", "chaser"]
        self.observation_spaces = {a: spaces.Box(-9, 9, (4,)) for a in self.possible_agents}
        self.action_spaces = {a: spaces.Discrete(3) for a in self.possible_agents}

    def _obs(self):
        return {a: np.random.randn(4).astype(np.float32) + self.t for a in self.agents}

    def reset(self, seed=None, options=None):
        self.agents, self.t = list(self.possible_agents), 0
        return self._obs(), {a: {} for a in self.agents}

    def step(self, actions):
        self.t += 1
        rewards = {a: float(actions[a] == 1) for a in self.agents}
        over = {a: self.t >= 8 for a in self.agents}
        obs = self._obs()
        return obs, rewards, over, over, {a: {} for a in self.agents}


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 3))
        self.saved_log_probs, self.rewards, self.entropies = [], [], []

    def act(self, obs):
        dist = Categorical(logits=self.net(torch.from_numpy(obs).unsqueeze(0)))
        action = dist.sample()
        self.saved_log_probs.append(dist.log_prob(action))
        self.entropies.append(dist.entropy())
        return action.item()


np.random.seed(0)
torch.manual_seed(0)
env = Tag()
policies = nn.ModuleDict({a: Policy() for a in env.possible_agents})
optimizer = torch.optim.Adam(policies.parameters(), lr=1e-2)
for episode in range(1, 121):
    obs, _ = env.reset()
    for _ in range(8):
        obs, rewards, done, _, _ = env.step({a: policies[a].act(obs[a]) for a in env.agents})
        for a, r in rewards.items():
            policies[a].rewards.append(r)
    loss = sum(-(torch.cat(p.saved_log_probs) * (torch.tensor(p.rewards) - 0.5)).mean() for p in policies.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p in policies.values():
        p.saved_log_probs.clear()
        p.rewards.clear()
        if os.environ.get("FIX"):
            p.entropies.clear()
print(loss.item())
