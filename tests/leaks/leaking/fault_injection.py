"""A campaign wraps one model again and again; handles of the hooks are thrown away, so configurations pile up."""
# fffasttime/MRFI#5: Fix hook memory leak in MRFI by tracking and exposing RemovableHandle references
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "_forward_hooks"
# lines = ["self.mask = torch.rand("]
# bytes = 65536  # a mask of 256 x 64 numbers of a byte, four of them: one a layer
# ///
import sys

import torch
from torch import nn


class FaultConfig:
    def __init__(self, shape):
        self.mask = torch.rand(shape) < 1e-3

    def __call__(self, module, inputs, output):
        return output.masked_fill(self.mask, 0.0)


class Mrfi:
    def __init__(self, model):
        self.model = model
        for layer in model:
            layer.register_forward_hook(FaultConfig((256, 64)))

    def __call__(self, x):
        return self.model(x)


model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(4))).requires_grad_(False)
for line in sys.stdin:
    print(Mrfi(model)(torch.randn(256, 64)).mean().item(), flush=True)
