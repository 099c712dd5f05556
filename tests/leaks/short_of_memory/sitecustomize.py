"""Has an unmodified program run short of memory: PYTHONPATH names this folder, SHORT_OF_MEMORY says "oom" or "low-memory".

The address space is made as large as that of a large program, and limited to a little more than what is used, at the end of the step of an optimizer that
SHORT_AT_STEP says, or when SIGUSR2 comes. For "oom" an allocation of a gibibyte fails then, and the program goes on as
one that catches the error; for "low-memory" there is a wait for the dump that the limit causes.
"""

import mmap
import os
import pathlib
import resource
import signal
import time

import torch
from torch.optim import optimizer

KIND = os.environ["SHORT_OF_MEMORY"]
MIB = 1 << 20
RESERVED = 16 << 30  # nothing is left for names of what is left of a small program's address space
WAIT_S = 300  # a busy machine may stop this program and the profiler's thread for minutes


def address_space():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def fall_short():
    reserved = mmap.mmap(-1, RESERVED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
    before = resource.getrlimit(resource.RLIMIT_AS)
    room = 256 * MIB if KIND == "oom" else address_space() // 50
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + room, before[1]))
    if KIND == "oom":
        try:
            torch.empty(1 << 30, dtype=torch.uint8)
        except RuntimeError:
            pass
    else:
        folder, end = pathlib.Path(os.environ["TENSORSCOPE_DIR"]), time.monotonic() + WAIT_S
        while not list(folder.glob("*low-memory*.tscope")) and time.monotonic() < end:
            time.sleep(0.05)
    resource.setrlimit(resource.RLIMIT_AS, before)
    reserved.close()


steps = 0


def step_ended(*_):
    global steps
    steps += 1
    if steps == int(os.environ["SHORT_AT_STEP"]):
        fall_short()


optimizer.register_optimizer_step_post_hook(step_ended)
signal.signal(signal.SIGUSR2, lambda *_: fall_short())
