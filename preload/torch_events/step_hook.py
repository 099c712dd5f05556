# SPDX-License-Identifier: Apache-2.0
"""Counts the steps of optimizers. torch.compile() has to be able to trace a step with the hook in it."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what step_hook.cc gives
    import torch
    from torch.optim import optimizer as optim

    def step_ended(): ...
    def counts(): ...


def tensorscope_step_ends(optimizer, arguments, keywords):
    compiler = getattr(torch, 'compiler', None)
    if not hasattr(compiler, 'is_compiling'):
        compiler = torch._utils
    if not (hasattr(compiler, 'is_compiling') and compiler.is_compiling()):
        step_ended()


if hasattr(optim, 'register_optimizer_step_post_hook'):
    optim.register_optimizer_step_post_hook(tensorscope_step_ends)
    counts()
