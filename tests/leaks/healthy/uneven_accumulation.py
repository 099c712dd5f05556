"""Gradients are accumulated over one to six batches of any length; losses are kept until the step that follows."""
# /// healthy
# dumps = "steps"
# ///
import random

import torch
from torch import nn

random.seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
optimizer = torch.optim.AdamW(model.parameters())
step = 0
while step < 60:
    losses, tokens = [], 0
    for _ in range(random.randint(1, 6)):
        x = torch.randn(random.randint(8, 128), 64)
        loss = (model(x) - x).square().sum()
        loss.backward()
        losses.append(loss)
        tokens += len(x)
    for parameter in model.parameters():
        parameter.grad /= tokens
    optimizer.step()
    optimizer.zero_grad(set_to_none=random.random() < 0.5)
    mean = sum(loss.item() for loss in losses) / tokens
    step += 1
