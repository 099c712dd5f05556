"""Deque(maxlen=16) of (key, value), full after step 16; the concatenation is as long as the window."""
# report: "KV cache of the streaming model keeps growing": keys and values are appended, the window is cut at 16 chunks
# library: torch
# /// healthy
# dumps = "asks"
# ///
from collections import deque

import torch
import torch.nn as nn
from ask import at


class StreamingAttention(nn.Module):
    def __init__(self, width, window):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.past = deque(maxlen=window)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.past.append((k, v))
        keys = torch.cat([k for k, _ in self.past], 1)
        values = torch.cat([v for _, v in self.past], 1)
        return nn.functional.scaled_dot_product_attention(q, keys, values)


torch.manual_seed(0)
model = nn.Sequential(StreamingAttention(64, 16), StreamingAttention(64, 16)).eval()
with torch.no_grad():
    for chunk in range(1, 71):
        out = model(torch.randn(2, 40, 64))
        if chunk % 20 == 0:
            print(chunk, out.std().item(), flush=True)
        at(chunk)
