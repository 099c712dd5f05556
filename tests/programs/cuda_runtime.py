"""Memory that a library takes from the CUDA runtime beside torch: cuda_runtime.py LIBRARY (tests/programs/cuda_caller.c)."""
import ctypes
import sys
import threading

import torch

import truth

library = ctypes.CDLL(sys.argv[1])
on_device = torch.empty(1000, device="cuda")
pinned = torch.empty(3000).pin_memory()


def take(call, nbytes):
    pointer = ctypes.c_void_p()
    assert call(ctypes.byref(pointer), ctypes.c_size_t(nbytes)) == 0
    return pointer.value


def line_of(function):
    return function.__code__.co_firstlineno


taken = {
    "device": take(library.take_device, 1 << 20),
    "async": take(library.take_async, 2 << 20),
    "managed": take(library.take_managed, 3 << 20),
    "pinned": take(library.take_pinned, 4 << 20),
    "host": take(library.take_host, 5 << 20),
}
buffer = ctypes.create_string_buffer(6 << 20)
assert library.pin(buffer, ctypes.c_size_t(6 << 20)) == 0
taken["registered"] = ctypes.addressof(buffer)
gone = [take(library.take_device, 1000), take(library.take_async, 1000), take(library.take_pinned, 1000)]
for give, pointer in zip((library.give_device, library.give_async, library.give_host), gone):
    assert give(ctypes.c_void_p(pointer)) == 0
other = ctypes.create_string_buffer(1000)
assert library.pin(other, ctypes.c_size_t(1000)) == 0 and library.unpin(other) == 0
assert library.take_device(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 40)) == 2
on_thread = []
thread = threading.Thread(target=lambda: on_thread.append((threading.get_native_id(), take(library.take_device, 7 << 20))))
thread.start()
thread.join()
truth.moment(taken=taken, gone=gone, line=line_of(take), on_thread=on_thread[0], pinned=pinned.data_ptr(),
             on_device=on_device.data_ptr())
