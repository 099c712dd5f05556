"""A forward hook keeps the last activation of each layer."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch
from torch import nn

features = {}
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).requires_grad_(False)
for name, layer in model.named_children():
    layer.register_forward_hook(lambda module, inputs, output, name=name: features.__setitem__(name, output))
for line in sys.stdin:
    model(torch.randn(32, 64))
    print(features["1"].mean().item(), flush=True)
