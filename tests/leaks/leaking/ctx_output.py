"""A custom function puts its own output on ctx: output, grad_fn and ctx refer to each other, and the collector is off."""
# pytorch/pytorch#25340: Memory leak: autograd contexts not being garbage collected when assigned output Tensors as attributes
# pytorch/pytorch#5569: torch.autograd.Function memory leak
# /// leak
# dumps = "requests"
# kinds = ["graph-cycle", "reference-cycle"]
# holder = "SwishBackward"
# lines = ["ctx.output = "]
# bytes = 32768  # 128 x 64 floats
# ///
import gc
import sys

import torch

gc.disable()


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.output = x * torch.sigmoid(x)
        return ctx.output

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.output


weight = torch.nn.Parameter(torch.randn(128, 64))
for line in sys.stdin:
    print(Swish.apply(weight).sum().item(), flush=True)
