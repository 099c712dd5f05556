"""Key-value pairs of single tokens in lists that drop the oldest token."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch

LAYERS, LENGTH = 2, 12
past_key_values = [[] for _ in range(LAYERS)]
for line in sys.stdin:
    for tokens in range(4):
        for layer in past_key_values:
            layer.append((torch.randn(8, 64), torch.randn(8, 64)))
            if len(layer) > LENGTH:
                layer.pop(0)
    print(len(past_key_values[0]), flush=True)
