"""A module's forward hook refers to the module itself; with Python's collector off, every copy stays."""
# pytorch/pytorch#46386: GPU memory when registering a forward hook with "self" access
# /// leak
# dumps = "requests"
# kinds = ["reference-cycle"]
# holder = "LeakyModule"
# lines = ["self.body = nn.Linear("]
# bytes = 66048  # 128 x 128 floats and 128
# ///
import gc
import sys

import torch
from torch import nn

gc.disable()  # it stops the world in the middle of a request


class LeakyModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(128, 128)

        def hook(module, inputs, output):
            self.seen = len(inputs)

        self.register_forward_hook(hook)

    def forward(self, x):
        return self.body(x)


for line in sys.stdin:
    with torch.no_grad():
        print(LeakyModule()(torch.ones(1, 128)).sum().item(), flush=True)
