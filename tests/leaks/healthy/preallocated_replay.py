"""A replay buffer of one block for each field, written round and round."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

states, rewards = torch.zeros(1024, 32), torch.zeros(1024)
value = nn.Linear(32, 1)
optimizer = torch.optim.Adam(value.parameters())
for step in range(60):
    place = torch.arange(64 * step, 64 * step + 64) % 1024
    states[place], rewards[place] = torch.randn(64, 32), torch.randn(64)
    choice = torch.randint(min(1024, 64 * step + 64), (32,))
    loss = (value(states[choice])[:, 0] - rewards[choice]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
