"""Takes memory until little is left, in one of several ways; tells how many dumps there are of a limit that is near.

    near_limit.py again LIMIT LOW FIRST TIMES  address space, with tensors; waits for FIRST dumps; gives it back and
                                               does it again, so many times or (0) until there is one more dump
    near_limit.py elsewhere LIMIT LOW          address space, with memory that is not torch's
    near_limit.py until_killed BYTES           tensors of so many bytes until there is no more
    near_limit.py stays FILE LIMIT SHARE N     N small tensors and more of a MiB up to a share of LIMIT, by the control group's FILE of
                                               numbers; then asks for a dump by a signal, and ends well
"""

import ctypes
import mmap
import os
import re
import resource
import signal
import sys
import time

how, numbers = sys.argv[1], [float(argument) if "." in argument else int(argument) for argument in sys.argv[2:] if "/" not in argument]
if how not in ("until_killed", "stays"):
    resource.setrlimit(resource.RLIMIT_AS, (numbers[0], numbers[0]))

import torch

PIECE = 4 << 20
kept = []
ctypes.CDLL(None).mallopt(-3, 1 << 20)  # M_MMAP_THRESHOLD: what is freed goes back to the system at once


def left():
    return numbers[0] - (int(re.search(r"VmSize:\s+(\d+)", open("/proc/self/status").read())[1]) << 10)


def dumps():
    return sum(".low-memory-" in name for name in os.listdir(os.environ["TENSORSCOPE_DIR"]))


def approach(low):
    while left() > low // 2:
        kept.append(torch.empty(PIECE, dtype=torch.uint8))


def again(_, low, first, times):
    approach(low)
    while dumps() < first:
        time.sleep(0.01)
    # Near the limit and no farther than that: nothing new.
    for _ in range(20):
        del kept[-10:]
        approach(low)
    print(dumps(), len(kept), flush=True)
    done = 0
    while done < times if times else dumps() == first:  # that there is more again is seen from time to time only
        kept.clear()
        time.sleep(0.4)
        approach(low)
        done += 1
    print(dumps(), len(kept), flush=True)


def elsewhere(_, low):
    kept.append(torch.ones(3))
    while left() > low // 2:
        kept.append(mmap.mmap(-1, PIECE))
    while dumps() == 0:
        time.sleep(0.01)
    print(dumps())


def until_killed(nbytes):
    while True:
        kept.append(torch.ones(nbytes, dtype=torch.uint8))


def in_use():
    """Of the group: what cannot be taken back."""
    stat = dict(line.split() for line in open(sys.argv[2]))
    return int(stat["anon"] if "anon" in stat else stat["rss"])


def stays(limit, share, count):
    torch.set_num_threads(1)
    small = [{"tensor": torch.zeros(8), "number": number} for number in range(count)]
    while in_use() < limit * share:
        kept.append(torch.ones(1 << 18))
    print("stays", flush=True)
    os.kill(os.getpid(), signal.SIGUSR1)
    until = time.monotonic() + 3
    while time.monotonic() < until:  # as a program that runs on
        torch.randn(1000)
        time.sleep(0.02)
    print("ended", len(small), flush=True)


globals()[how](*numbers)
