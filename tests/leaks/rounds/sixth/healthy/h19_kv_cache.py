"""Requests are generated one after the other, 27 tokens each; the cache of a request is concatenated (made larger) for each token and dropped at its end."""
# looks like: keys and values that grow each step; at steps 20, 40, 60 the cache has 20, 13, 6 positions. Sawtooth
# library: torch only (generation with a KV cache)
# /// healthy
# dumps = "asks"
# ///
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Decoder(nn.Module):
    def __init__(self, n=64, layers=3):
        super().__init__()
        self.qkv = nn.ModuleList([nn.Linear(n, 3 * n) for _ in range(layers)])
        self.past = [None] * layers

    def reset(self):
        self.past = [None] * len(self.past)

    def forward(self, x):
        for k, layer in enumerate(self.qkv):
            q, key, value = layer(x).chunk(3, -1)
            if self.past[k] is not None:
                key = torch.cat([self.past[k][0], key], 1)
                value = torch.cat([self.past[k][1], value], 1)
            self.past[k] = (key, value)
            x = x + nn.functional.scaled_dot_product_attention(q[:, None], key[:, None], value[:, None])[:, 0]
        return x


model = Decoder().eval()
with torch.no_grad():
    for i in range(1, 66):
        if i % 27 == 1:
            model.reset()
            x = torch.randn(16, 1, 64)
        x = model(x)
        at(i)
