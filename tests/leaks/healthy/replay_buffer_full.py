"""A replay buffer at its limit: as many transitions leave as come."""
# /// healthy
# dumps = "steps"
# ///
import collections
import random

import torch
from torch import nn

random.seed(0)
policy = nn.Linear(64, 4)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
memory = collections.deque(maxlen=16)
for step in range(60):
    state = torch.randn(16, 64)
    with torch.no_grad():
        action = policy(state).argmax(1)
    memory.append((state, action, torch.randn(16)))
    states, actions, rewards = random.choice(memory)
    loss = (policy(states).gather(1, actions[:, None])[:, 0] - rewards).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
