"""Each layer's result remembers its input as an attribute; the state that goes from call to call drags the whole chain."""
# fastai/fastai#2970: fix sequentialex memory leak
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "orig"
# lines = ["result = torch.relu("]
# bytes = 16384  # 64 x 64 floats
# ///
import sys

import torch
from torch import nn


class SequentialEx(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            result = torch.relu(layer(x))
            result.orig = x
            x = result
        return x


model = SequentialEx(nn.Linear(64, 64)).requires_grad_(False)
state = torch.randn(64, 64)
for line in sys.stdin:
    state = model(state)
    print(state.mean().item(), flush=True)
