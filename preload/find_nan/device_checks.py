# SPDX-License-Identifier: Apache-2.0
"""Checks what modules return, and gradients before an optimizer's step, on the device.

The largest magnitude is not finite where any element is not. One kernel for each tensor, no memory but a number that is kept for it, no
random numbers, nothing in the graph. While a CUDA graph is captured, or something else than plain torch runs (torch.compile, vmap, a
dispatch mode), nothing is done.
"""

import atexit, math, os, warnings, weakref

TYPE_CHECKING = False
if TYPE_CHECKING:  # what device_checks.cc gives
    import torch
    from torch.nn.modules import module as nn_module
    from torch.optim import optimizer as optim

    def found(owner, name, step, nan): ...
    def checked(count): ...
    def failed(text): ...
    def unseen_begins(): ...
    def unseen_ends(): ...


tensorscope_most = 1024
tensorscope_numbers: dict = {}
tensorscope_used: dict = {}
tensorscope_waiting: list = []
tensorscope_modules: dict = {}
tensorscope_state = {'step': 0, 'on': True, 'pid': os.getpid()}


def tensorscope_is_on_device(tensor):
    return tensor.device.type not in ('cpu', 'meta')


def tensorscope_can_check(tensor):
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensorscope_is_on_device(tensor) and tensor.layout == torch.strided
            and (tensor.is_floating_point() or tensor.is_complex()) and tensor.element_size() > 1 and tensor.numel() != 0
            and not tensor.is_conj())


def tensorscope_may_check():
    compiler = getattr(torch, 'compiler', None)
    if not tensorscope_state['on'] or (hasattr(compiler, 'is_compiling') and compiler.is_compiling()):
        return False
    if hasattr(torch._C, '_len_torch_dispatch_stack') and torch._C._len_torch_dispatch_stack() != 0:
        return False
    functorch = getattr(torch._C, '_functorch', None)
    if functorch is not None and functorch.peek_interpreter_stack() is not None:
        return False
    return not (torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def tensorscope_check(tensor, owner, parameter):
    wide = torch.float64 if tensor.dtype in (torch.float64, torch.complex128) else torch.float32
    key = tensor.device, wide
    if key not in tensorscope_numbers:
        nothing = torch.full((tensorscope_most,), math.nan, dtype=wide, device='cpu')
        tensorscope_numbers[key] = nothing.to(tensor.device)
    if tensorscope_used.setdefault(key, 0) == tensorscope_most:
        tensorscope_read()
    index = tensorscope_used[key]
    tensorscope_used[key] = index + 1
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    torch.linalg.vector_norm(tensor, math.inf, dtype=wide, out=tensorscope_numbers[key][index])
    tensorscope_waiting.append((owner, parameter, tensorscope_state['step'], key, index))


def tensorscope_read():
    used = {key: numbers[:tensorscope_used[key]].tolist() for key, numbers in tensorscope_numbers.items()}
    waiting = list(tensorscope_waiting)
    tensorscope_waiting.clear()
    for key in tensorscope_used:
        tensorscope_used[key] = 0
    for owner, parameter, step, key, index in waiting:
        if tensorscope_state['on'] and not math.isfinite(used[key][index]):
            tensorscope_state['on'] = False
            owner, name = (owner, '') if parameter is None else tensorscope_owner(parameter)
            found(owner, name, step, math.isnan(used[key][index]))
    checked(len(waiting))


# In a forked child what waits is the parent's, and lies on a device that the child cannot use.
def tensorscope_forget_the_parents():
    if tensorscope_state['pid'] != os.getpid():
        tensorscope_numbers.clear(), tensorscope_used.clear(), tensorscope_waiting.clear()
        tensorscope_state.update(step=0, pid=os.getpid())


def tensorscope_safely(work):
    if not tensorscope_may_check():
        return
    tensorscope_forget_the_parents()
    unseen_begins()
    try:
        with torch._C.DisableTorchFunction(), torch.inference_mode(False), torch.no_grad():
            work()
    except Exception as error:
        tensorscope_state['on'] = False
        failed(str(error)[:200])
    finally:
        unseen_ends()


def tensorscope_tensors(value, depth):
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 4 and isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensorscope_tensors(each, depth + 1)


def tensorscope_module_ends(module, arguments, result):
    def work():
        for tensor in tensorscope_tensors(result, 0):
            if tensorscope_can_check(tensor):
                if tensorscope_modules.get(id(module), lambda: None)() is not module:
                    tensorscope_modules[id(module)] = weakref.ref(module)
                tensorscope_check(tensor, id(module), None)
    tensorscope_safely(work)


def tensorscope_owner(parameter):
    for reference in list(tensorscope_modules.values()):
        module = reference()
        for name, own in module._parameters.items() if module is not None else ():
            if own is parameter:
                return id(module), name
    return 0, '?'


def tensorscope_computes_gradients(arguments, keywords):
    return any(callable(each) for each in (*arguments[1:2], keywords.get('closure')))


def tensorscope_check_gradients(optimizer):
    def work():
        for group in optimizer.param_groups:
            for parameter in group['params']:
                if parameter.grad is not None and tensorscope_can_check(parameter.grad):
                    tensorscope_check(parameter.grad, 0, parameter)
        tensorscope_read()
    tensorscope_safely(work)


def tensorscope_step_begins(optimizer, arguments, keywords):
    if not tensorscope_computes_gradients(arguments, keywords):
        tensorscope_check_gradients(optimizer)


def tensorscope_step_ends(optimizer, arguments, keywords):
    if tensorscope_computes_gradients(arguments, keywords):
        tensorscope_check_gradients(optimizer)
    tensorscope_state['step'] += 1


if hasattr(optim, 'register_optimizer_step_post_hook'):
    optim.register_optimizer_step_pre_hook(tensorscope_step_begins)
    optim.register_optimizer_step_post_hook(tensorscope_step_ends)
nn_module.register_module_forward_hook(tensorscope_module_ends)
atexit.register(tensorscope_safely, tensorscope_read)
warnings.filterwarnings('ignore', message='Using `torch.compile.module.` when there are global hooks', category=UserWarning)
