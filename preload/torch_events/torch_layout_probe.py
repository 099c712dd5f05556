# SPDX-License-Identifier: Apache-2.0
"""Operations with different numbers of arguments and results.

The thread that runs them is new: nothing of the program's own threads (modes, gradients switched off, hooks for what is saved, its
profiler) is there.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what torch_layout_probe.cc gives
    import torch

    def made(tensor): ...


def tensorscope_torch_layout_probe():
    x = torch.ones((2, 3), dtype=torch.float32, device='cpu')
    for operation, arguments in ((x.exp, ()), (x.add, (x,)), (x.max, (0,)), (x.mul, (x,)), (x.clamp, (0, 1)), (x.sum, ())):
        operation(*arguments)
    x.requires_grad_()
    for operation in (x.t, x.neg, x.sum, x.t, x.neg, x.sum):
        made(operation())
