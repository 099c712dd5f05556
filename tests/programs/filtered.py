"""A program that puts a filter of system calls before itself, which ends it at calls that it never makes.

Arguments: the library that stands for torch; "before" torch is loaded, or afterwards, before this thread ("after") or before all
("all"), or before all while a dump is written ("busy"); then the numbers of the calls. Needs no torch. x86-64 alone.
"""

import ctypes
import os
import signal
import struct
import sys
import time

PR_SET_NO_NEW_PRIVS, SYS_SECCOMP, SET_MODE_FILTER, FLAG_TSYNC = 38, 317, 1, 1
LOAD, EQUAL, RETURN, KILL_PROCESS, ALLOW = 0x20, 0x15, 0x06, 0x80000000, 0x7FFF0000
libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def put_filter(numbers, flags):
    steps = [(LOAD, 0, 0, 0)]
    for number in numbers:
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, KILL_PROCESS)]
    steps.append((RETURN, 0, 0, ALLOW))
    program = Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.syscall(SYS_SECCOMP, SET_MODE_FILTER, flags, ctypes.byref(program)) == 0, ctypes.get_errno()


moment, numbers = sys.argv[2], [int(number) for number in sys.argv[3:]]
if moment == "before":
    put_filter(numbers, 0)
FOR_ALL = moment in ("all", "busy")
PRELOADED = "LD_PRELOAD" in os.environ
if PRELOADED:  # the library needs functions that the preload has
    library = ctypes.CDLL(sys.argv[1])
    library.fake_allocate.argtypes = [ctypes.c_size_t]
    library.fake_allocate(64)
while PRELOADED and moment != "before" and len(os.listdir("/proc/self/task")) < 3:
    time.sleep(0.001)  # until the collector is there
if PRELOADED and moment == "busy":
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.002)
if moment != "before":
    put_filter(numbers, FLAG_TSYNC if FOR_ALL else 0)
if PRELOADED:
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(30):
        library.fake_allocate(1 << 20)
        time.sleep(0.05)
os.write(1, b"done\n")
