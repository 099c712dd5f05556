"""REINFORCE whose moving baseline is never detached."""
# kind: graph chained over steps by one scalar, with torch
# after: forum "training gets slower and takes more memory": baseline = 0.9 * baseline + 0.1 * reward_model(...)
# fix: baseline = 0.9 * baseline + 0.1 * value.mean().item() (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "baseline"  # baseline (its grad_fn)
# lines = ["value = critic(obs).squeeze(1)", "obs = torch.randn(64, 80)"]  # activations that the graph saves, obs
# bytes = 53263  # obs 64x80x4 = 20480, tanh 64x128x4 = 32768 saved by the critic: 53248, some scalars; measured, bytes a step in 20..40, 40..60: tensors that gc sees 53248,53248, malloc in use 62872,62585, rss 64921,65740; storages the kept graph saves 53263; with FIX: malloc 336,220, rss -1024,819
# ///
import os
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(80, 6)
critic = nn.Sequential(nn.Linear(80, 128), nn.Tanh(), nn.Linear(128, 1))
opt = torch.optim.Adam(policy.parameters(), 1e-2)
critic_opt = torch.optim.Adam(critic.parameters(), 1e-3)


def play(obs, actions):
    return (actions == obs[:, :6].argmax(1)).float()


baseline = torch.zeros(())
for episode in range(70):
    obs = torch.randn(64, 80)
    dist = torch.distributions.Categorical(logits=policy(obs))
    value = critic(obs).squeeze(1)
    actions = dist.sample()
    reward = play(obs, actions)
    mean = value.mean().item() if os.environ.get("FIX") else value.mean()
    baseline = 0.9 * baseline + 0.1 * mean
    advantage = reward - float(baseline)
    loss = -(dist.log_prob(actions) * advantage).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if episode % 20 == 0:
        print(episode, "reward", reward.mean().item(), "baseline", float(baseline))
