"""Each request traces a function of its own; what the trace took for constants stays in torch's global compilation unit."""
# pytorch/pytorch#43119: Tracing can leak CUDA memory when using tensor constants
# pytorch/pytorch#96726: Memory not release after jit.trace/freeze
# /// leak
# dumps = "requests"
# kinds = ["cpp-only"]
# holder = "C++ code"
# lines = ["table = ", "traced = "]
# bytes = [16384, 49152]  # a table of 64 x 64 floats, perhaps copied
# ///
import sys
import warnings

import torch

warnings.simplefilter("ignore")


def answer(seed):
    torch.manual_seed(seed)
    table = torch.rand(64, 64)
    traced = torch.jit.trace(lambda x: x @ table, (torch.rand(4, 64),), check_trace=False)
    return traced(torch.ones(4, 64)).sum().item()


for line in sys.stdin:
    print(answer(int(line)), flush=True)
