"""Counts what a program sees of descriptors that are not its own, while dumps are written and allocations are recorded.

Arguments: the library that stands for torch; the numbers that are closed, as "02". Needs no torch.
"""

import ctypes
import fcntl
import os
import signal
import sys

DUMPS = 6
library = ctypes.CDLL(sys.argv[1])
library.fake_allocate.argtypes = [ctypes.c_size_t]
library.fake_allocate(64)
closed = [int(number) for number in sys.argv[2]]
folder, name = os.environ["TENSORSCOPE_DIR"], f"own_numbers.{os.getpid()}"
low = os.open("/dev/null", os.O_RDWR)
null = fcntl.fcntl(low, fcntl.F_DUPFD, 20)
os.close(low)
lowest = low  # what the next file gets: the first that is closed
found = {"open": 0, "read": 0, "written": 0, "other number": 0, "busy": 0}


def succeeds(call, *arguments):
    try:
        return call(*arguments)
    except OSError:
        return False


def look():
    for number in closed:
        found["open"] += bool(succeeds(os.fstat, number))
        found["read"] += bool(succeeds(os.read, number, 64))
        found["written"] += bool(succeeds(os.write, number, b"PROGRAM OUTPUT\n"))
    fresh = os.open("/dev/null", os.O_RDONLY)
    found["other number"] += fresh != lowest
    os.close(fresh)
    try:
        os.dup2(null, lowest)
        os.close(lowest)
    except OSError:
        found["busy"] += 1


for dump in range(1, DUMPS + 1):
    os.kill(os.getpid(), signal.SIGUSR1)
    library.fake_allocate(1 << 20)
    while not os.path.exists(f"{folder}/{name}.{dump}.tscope"):
        look()
    for _ in range(2000):
        look()

with open(os.path.join(folder, "found"), "w") as file:
    print({what: count for what, count in found.items() if count}, file=file)
