"""A compiled function that is compiled again for two more shapes, then not again."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch


@torch.compile(backend="eager", dynamic=False)
def attend(x):
    return (x @ x.T).softmax(1) @ x


for line in sys.stdin:
    print(attend(torch.randn(32 + 16 * (int(line) % 3), 64)).mean().item(), flush=True)
