"""Autograd graph chained over steps in an attribute."""
# after: REINFORCE with a baseline (exponential mean) that was not detached
# fix: estimate = estimate.detach() (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "agent.baseline"
# lines = ["estimate = critic(obs.roll(1, 0)).mean()"]
# bytes = 40976  # 40,976 measured: tanh output 128x64x4 = 32,768 + obs.roll 128x16x4 = 8,192 + small; malloc 50,700 (upper end: 9 nodes a step)
# ///
import os
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 4))
critic = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=1e-3)


class Agent:
    def __init__(self):
        self.baseline = torch.zeros(())

    def update(self, obs):
        dist = Categorical(logits=policy(obs))
        action = dist.sample()
        reward = obs.gather(1, action.view(-1, 1)).squeeze(1)
        value = critic(obs).squeeze(1)
        estimate = critic(obs.roll(1, 0)).mean()
        if os.environ.get("FIX"):
            estimate = estimate.detach()
        self.baseline = 0.95 * self.baseline + 0.05 * estimate
        advantage = (reward - self.baseline).detach()
        loss = -(dist.log_prob(action) * advantage).mean() + (value - reward).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return reward.mean().item()


agent = Agent()
rewards = []
for step in range(1, 241):
    rewards.append(agent.update(torch.randn(128, 16)))
print(sum(rewards[-20:]) / 20, agent.baseline.item())
