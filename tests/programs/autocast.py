"""bfloat16 autocast: the casts that autograd saves are held by C++ alone."""
import torch
from torch import nn

import truth

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = model(torch.randn(16, 32)).float().square().mean()
print(f"{loss.item():.4f}")
truth.moment()
