"""The best samples so far are merged with new ones and cut to a length; the cut part lives on in the graph."""
# pytorch/pytorch#10830: [Bug] not clearing memory after slicing tensor
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached"]
# holder = "out"
# lines = ["order = ", "out = torch.cat("]
# bytes = [8000, 200000]  # indices of 3000 numbers of 8 bytes, the batch of 2000 floats
# ///
import sys

import torch


def leave_top(x, count):
    order = x.argsort(descending=True)
    return x[order][:count]


scale = torch.nn.Parameter(torch.tensor([0.5]))
out = torch.zeros(0)
for line in sys.stdin:
    out = torch.cat([out, scale * torch.randn(2000)])
    out = leave_top(out, 1000)
    print(out[0].item(), flush=True)
