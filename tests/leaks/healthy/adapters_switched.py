"""Three adapters that are loaded at their first use and then switched."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch
from torch import nn

base = nn.Linear(128, 128).requires_grad_(False)
adapters = {}
for line in sys.stdin:
    name = f"language{int(line) % 3}"
    if name not in adapters:
        adapters[name] = nn.Linear(128, 128, bias=False).requires_grad_(False)
    x = torch.randn(8, 128)
    print((base(x) + adapters[name](x)).mean().item(), flush=True)
