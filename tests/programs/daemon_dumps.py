"""Ends while daemon threads, below a C++ frame that is noexcept, ask for one dump after another.

Needs no torch: the first library named on the command line stands for it, the second one has the frame.
"""

import atexit
import ctypes
import sys
import threading
import time

torch = ctypes.CDLL(sys.argv[1])
torch.fake_allocate.argtypes = [ctypes.c_size_t]
torch.fake_allocate(64)
while atexit._ncallbacks() == 0:  # the profiler knows the interpreter
    time.sleep(0.001)
call = ctypes.PyDLL(sys.argv[2]).call_noexcept  # PyDLL: with the GIL
dump = ctypes.CDLL(None).tensorscope_dump
began = threading.Event()


def dumps():
    while True:
        call(dump)
        began.set()


for _ in range(4):
    threading.Thread(target=dumps, daemon=True).start()
began.wait()
print("end", flush=True)
