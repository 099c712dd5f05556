"""Activation checkpointing: saved inputs go with each backward."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(4))
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.01)
for step in range(60):
    x = torch.randn(32, 64, requires_grad=True)
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    optimizer.zero_grad()
    x.square().mean().backward()
    optimizer.step()
