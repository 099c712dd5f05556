"""A gradient penalty with create_graph=True, whose losses are kept as numbers."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(critic.parameters())
penalties = []
for step in range(60):
    mixed = torch.randn(32, 32, requires_grad=True)
    (slopes,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    penalty = ((slopes.norm(2, dim=1) - 1) ** 2).mean()
    optimizer.zero_grad()
    penalty.backward()
    optimizer.step()
    penalties.append(penalty.item())
