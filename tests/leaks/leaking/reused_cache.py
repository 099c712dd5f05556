"""A key-value cache is reset by zeros in place and used for the next prompt, which is appended to the zeros."""
# huggingface/transformers#48809: Fix `reset` on the dynamic cache layers
# /// leak
# dumps = "requests"
# kinds = ["larger-tensor", "container", "place"]
# holder = ": cache."
# lines = ["self.keys = torch.cat(", "self.values = torch.cat("]
# bytes = 65536  # keys and values, 16 tokens of 4 heads of 128 floats each
# ///
import sys

import torch


class DynamicLayer:
    def __init__(self):
        self.keys = self.values = torch.zeros(1, 4, 0, 128)

    def update(self, keys, values):
        self.keys = torch.cat([self.keys, keys], dim=2)
        self.values = torch.cat([self.values, values], dim=2)
        return self.keys, self.values

    def reset(self):
        self.keys.zero_()
        self.values.zero_()


cache = DynamicLayer()
for line in sys.stdin:
    cache.reset()
    prompt = torch.randn(1, 4, 16, 128)
    keys, values = cache.update(prompt, prompt.tanh())
    out = torch.softmax(prompt @ keys.transpose(2, 3), dim=3) @ values
    print(out.argmax().item(), flush=True)
