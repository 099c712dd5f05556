"""On-policy rollouts in a list that is cleared after each update."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

policy = nn.Linear(32, 4)
optimizer = torch.optim.Adam(policy.parameters())
rollout = []
for step in range(60):
    state = torch.randn(16, 32)
    for _ in range(5):
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=policy(state)).sample()
        rollout.append((state, action, torch.randn(16)))
        state = state + torch.randn(16, 32)
    loss = torch.stack([torch.distributions.Categorical(logits=policy(s)).log_prob(a).mul(r).mean() for s, a, r in rollout]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rollout.clear()
