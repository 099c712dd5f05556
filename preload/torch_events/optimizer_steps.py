# SPDX-License-Identifier: Apache-2.0
"""Hooks of torch.optim, which tell when a step begins and ends.

torch.compile can trace a hook that is a Python function; while it traces, these do nothing. Nothing of torch is imported here: while
the program imports it, that would be a deadlock of two imports. A step that is given a closure computes the gradients itself, so they
are taken at its end.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what module_calls.cc gives
    import torch
    from torch.optim import optimizer as optim

    def gradients_are_there(optimizer): ...
    def step_ends(optimizer): ...


def tensorscope_is_compiling():
    compiler = getattr(torch, 'compiler', None)
    if not hasattr(compiler, 'is_compiling'):
        compiler = torch._utils
    return hasattr(compiler, 'is_compiling') and compiler.is_compiling()


if str(getattr(torch, '__version__', '')).startswith(('2.1.', '2.2.')) and hasattr(torch._utils, 'is_compiling'):
    tensorscope_is_compiling = torch._utils.is_compiling  # the only one that torch.compile knows there


def tensorscope_computes_gradients(arguments, keywords):
    return any(callable(each) for each in (*arguments[1:2], keywords.get('closure')))


def tensorscope_step_begins(optimizer, arguments, keywords):
    if not tensorscope_is_compiling() and not tensorscope_computes_gradients(arguments, keywords):
        gradients_are_there(optimizer)


def tensorscope_step_ends(optimizer, arguments, keywords):
    if not tensorscope_is_compiling():
        if tensorscope_computes_gradients(arguments, keywords):
            gradients_are_there(optimizer)
        step_ends(optimizer)


if hasattr(optim, 'register_optimizer_step_post_hook'):
    optim.register_optimizer_step_pre_hook(tensorscope_step_begins)
    optim.register_optimizer_step_post_hook(tensorscope_step_ends)
