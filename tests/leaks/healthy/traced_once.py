"""Four functions are traced when the server begins, with their tables as constants; requests only call them."""
# /// healthy
# dumps = "requests"
# ///
import sys
import warnings

import torch

warnings.simplefilter("ignore")


def traced(seed):
    torch.manual_seed(seed)
    table = torch.rand(64, 64)
    return torch.jit.trace(lambda x: x @ table, (torch.rand(4, 64),), check_trace=False)


functions = [traced(seed) for seed in range(4)]
for line in sys.stdin:
    print(functions[int(line) % 4](torch.rand(4, 64)).sum().item(), flush=True)
