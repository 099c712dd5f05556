"""Activation checkpointing in both modes, before the backward pass, then after it."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import truth

torch.manual_seed(0)
block = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
for reentrant in (False, True):
    data = torch.randn(8, 16, requires_grad=True)
    loss = checkpoint(block, data, use_reentrant=reentrant).sum()
    truth.moment(f"before-{reentrant}")
    loss.backward()
    truth.moment(f"after-{reentrant}")
    print(f"{data.grad.sum().item():.4f}")
