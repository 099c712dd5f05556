"""Whether calls of modules are seen: then the interpreter enters torch.nn.Module._call_impl in another way than other functions."""
import ctypes
import time
import types

import torch

VECTORCALL_OFFSET = ctypes.c_ssize_t.from_address(id(types.FunctionType) + 56).value  # tp_vectorcall_offset


def are_seen():
    entry_of, other = (ctypes.c_void_p.from_address(id(function) + VECTORCALL_OFFSET).value
                       for function in (torch.nn.Module._call_impl, torch.nn.Module.register_forward_hook))
    return entry_of != other


def wait():
    """Another thread sees to it soon after the import of torch."""
    end = time.monotonic() + 100
    while not are_seen() and time.monotonic() < end:
        time.sleep(0.01)
    assert are_seen()
