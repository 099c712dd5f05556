"""Forks often, in a process whose only other threads would be the profiler's, and counts what the interpreter says about it.

Needs no torch: the library named on the command line stands for it. `handler`: with a handler of os.register_at_fork.
"""

import atexit
import ctypes
import os
import sys
import time
import warnings

FORKS = 200

library = ctypes.CDLL(sys.argv[1])
library.fake_allocate.argtypes = [ctypes.c_size_t]
library.fake_allocate(64)
# While torch is imported, a second thread registers the exit dump as soon as it gets the GIL.
while atexit._ncallbacks() == 0 or len(os.listdir("/proc/self/task")) != 3:
    time.sleep(0.001)

if "handler" in sys.argv:
    os.register_at_fork(after_in_parent=lambda: sum(number for number in range(3000)))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(FORKS):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

for _ in range(5000):  # after a fork one of the two makes the other
    if len(os.listdir("/proc/self/task")) == 3:
        break
    time.sleep(0.001)
print(len(caught), "warnings")
print(len(os.listdir("/proc/self/task")), "threads")
