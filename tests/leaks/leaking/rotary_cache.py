"""A rotary embedding caches its frequencies by sequence length; a chat has every length once."""
# lucidrains/rotary-embedding-torch#15: Model hangs on eval
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "cache"
# lines = ["self.cache[length] = "]
# bytes = [16384, 40960]  # length x 64 floats; lengths from 1 to 120
# ///
import sys

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freqs", 10000 ** (-torch.arange(0, dim, 2) / dim))
        self.cache = {}

    def forward(self, length):
        if length not in self.cache:
            angles = torch.arange(length)[:, None] * self.freqs
            self.cache[length] = torch.cat([angles.sin(), angles.cos()], dim=1)
        return self.cache[length]


rotary = RotaryEmbedding(64)
for line in sys.stdin:
    length = 2 * int(line) + 32
    queries = torch.randn(length, 64) * rotary(length)
    print(queries.mean().item(), flush=True)
