"""Spectral normalization whose left vector is carried from step to step with its graph."""
# pytorch/pytorch#7261: Possible memory leak in spectral_norm
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached"]
# holder = ".u"
# lines = ["v = nn.functional.normalize(", "self.u = nn.functional.normalize(", "return x @ (self.weight / sigma)"]
# bytes = [4096, 16384]  # vectors of 512 floats, before and after normalize, and what that saved
# ///
import sys

import torch
from torch import nn


class SpectralLinear(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width)
        self.u = torch.randn(width)

    def forward(self, x):
        v = nn.functional.normalize(self.weight.t() @ self.u, dim=0)
        self.u = nn.functional.normalize(self.weight @ v, dim=0)
        sigma = self.u @ self.weight @ v
        return x @ (self.weight / sigma)


discriminator = SpectralLinear(512)
for line in sys.stdin:
    print(discriminator(torch.ones(1, 512)).sum().item(), flush=True)
