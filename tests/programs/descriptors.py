"""Prints the open descriptors at several moments of a training: a profiler adds none."""
import os
import re
import signal
import sys
import time

import torch
from torch import nn

import portrait


def descriptors():
    """Pipes, sockets and the like have a number of their own in each run."""
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    numbers = sorted(int(number) for number in os.listdir(folder))
    open_ones = [(number, re.sub(r"\d+", "N", os.readlink(f"/proc/self/fd/{number}"))) for number in numbers
                 if number != folder and os.path.lexists(f"/proc/self/fd/{number}")]
    os.close(folder)
    return open_ones


def moment(name):
    print(name, descriptors())


def wait_for_dump(pattern):
    while "LD_PRELOAD" in os.environ and not any(re.search(pattern, name) for name in os.listdir(os.environ["TRUTH_DIR"])):
        time.sleep(0.01)


device = sys.argv[1]
moment("imported")
model = nn.Linear(8, 4).to(device)
moment("first tensors")
model(torch.randn(16, 8, device=device)).sum().backward()
moment("backward")
before_dump = portrait.descriptors()
if "LD_PRELOAD" in os.environ:
    os.kill(os.getpid(), signal.SIGUSR1)
wait_for_dump(r"\.1\.tscope$")
portrait.wait_until_open(before_dump)
moment("dump by signal")
try:
    torch.empty(1 << 50, device=device)
except RuntimeError as error:
    print(type(error).__name__)
wait_for_dump(r"oom-1\.tscope$")
moment("out of memory")
