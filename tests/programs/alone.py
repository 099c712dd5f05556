"""Asks for namespaces that the kernel gives only to a process with one thread, and says what it got. Needs no torch.

Arguments: the library that stands for torch; the flags of unshare(), in hexadecimal.
"""

import ctypes
import os
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
PRELOADED = "LD_PRELOAD" in os.environ
if PRELOADED:  # the library needs functions that the preload has
    library = ctypes.CDLL(sys.argv[1])
    library.fake_allocate.argtypes = [ctypes.c_size_t]
    library.fake_allocate(64)


def threads(wanted):
    for _ in range(5000):
        if not PRELOADED or len(os.listdir("/proc/self/task")) == wanted:
            return
        time.sleep(0.001)


threads(3)
own_user = os.open("/proc/self/ns/user", os.O_RDONLY)
print("unshare", libc.unshare(int(sys.argv[2], 16)), ctypes.get_errno())
print("setns", libc.setns(own_user, 0), ctypes.get_errno())  # EINVAL: it may not go back to where it is or was
threads(3)
print(os.waitpid(os.fork() or os._exit(3), 0)[1] >> 8)
