"""What a process can see of itself, as data: descriptors, signals, threads, environment, mappings, limits and more."""

import atexit
import ctypes
import gc
import locale
import os
import re
import resource
import signal
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBM = ctypes.CDLL("libm.so.6")


class Sigaction(ctypes.Structure):
    """Of glibc on x86-64."""

    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ubyte * 128), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]


class Sigaltstack(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


def status_fields(path):
    names = ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp", "CapEff", "Cpus_allowed", "Umask", "FDSize",
             "CoreDumping", "THP_enabled", "Groups", "Uid", "Gid")
    text = open(path).read()
    return {name: match[1] for name in names if (match := re.search(rf"^{name}:[ \t]*(.*)$", text, re.MULTILINE))}


def dispositions():
    """As the program reads them: handler as a name (its address differs), flags and mask."""
    found = {}
    for number in range(1, 65):
        action = Sigaction()
        if LIBC.sigaction(number, None, ctypes.byref(action)) == 0:
            handler = {None: "default", 1: "ignore"}.get(action.handler, "function")
            found[number] = [handler, bytes(action.mask[:8]).hex(), action.flags]
    return found


def python_handlers():
    def name(handler):
        return getattr(handler, "__qualname__", str(handler))

    return {number: name(signal.getsignal(number)) for number in sorted(signal.valid_signals())}


def threads():
    """(name, blocked signals) of each; the kernel's ids differ from run to run."""
    found = []
    for tid in os.listdir("/proc/self/task"):
        try:
            blocked = status_fields(f"/proc/self/task/{tid}/status").get("SigBlk")
            found.append([open(f"/proc/self/task/{tid}/comm").read().strip(), blocked])
        except OSError:  # it has just ended
            pass
    return sorted(found)


def wait_until_gone(ended):
    """A Python thread may be joined a moment before the kernel's has ended."""
    for thread in ended:
        while os.path.exists(f"/proc/self/task/{thread.native_id}"):
            time.sleep(0.001)


def descriptors():
    found = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            found[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the listing's own
            pass
    return found


def wait_until_open(expected):
    """A dump bears its name shortly before the profiler's thread closes what it was written with."""
    deadline = time.monotonic() + 60
    while descriptors() != expected and time.monotonic() < deadline:
        time.sleep(0.01)


def mappings():
    """Files that are mapped, each with the permissions of its parts in order; anonymous memory is the allocator's affair."""
    found = {}
    for line in open("/proc/self/maps"):
        _, permissions, _, _, inode, *path = line.split(maxsplit=5)
        if path and inode != "0":
            found.setdefault(path[0].strip(), []).append(permissions)
    return found


def floating_point():
    """Of this thread: how it rounds, which exceptions trap, whether denormal numbers are flushed to zero, and the flags that are set."""
    state = (ctypes.c_ubyte * 32)()  # glibc's fenv_t on x86-64: the x87's environment, then MXCSR
    LIBM.fegetenv(ctypes.byref(state))
    return {"rounding": LIBM.fegetround(), "x87 control": bytes(state[:2]).hex(), "MXCSR control": bytes(state[28:32]).hex()[2:],
            "MXCSR masks": state[28] & 0xC0, "flags": LIBM.fetestexcept(0x3F)}


class RobustList(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("offset", ctypes.c_long), ("pending", ctypes.c_void_p)]


def robust_locks():
    """Of this thread: the kernel's list of locks that it would give free at the thread's end, without their addresses."""
    head, size = ctypes.POINTER(RobustList)(), ctypes.c_size_t()
    if LIBC.syscall(274, 0, ctypes.byref(head), ctypes.byref(size)) != 0:  # get_robust_list
        return None
    return {"size": size.value, "offset": head[0].offset, "locks": head[0].next != ctypes.addressof(head[0]), "pending": head[0].pending}


def portrait():
    alternative = Sigaltstack()
    LIBC.sigaltstack(None, ctypes.byref(alternative))
    return {
        "descriptors": descriptors(),
        "status": status_fields("/proc/self/status"),
        "dispositions": dispositions(),
        "python handlers": python_handlers(),
        "pending": sorted(signal.sigpending()),
        "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "alternative stack": [alternative.flags, alternative.size],
        "timers": [round(signal.getitimer(which)[0], -5) for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "threads": threads(),
        "python threads": sorted(thread.name for thread in threading.enumerate()),
        "environment": dict(os.environ),
        "first environment": sorted(open("/proc/self/environ").read().split("\0")),
        "environ": sorted(environ()),
        "mappings": mappings(),
        "posix timers": text_of("/proc/self/timers"),
        "floating point": floating_point(),
        "robust locks": robust_locks(),
        "groups": [text_of("/proc/thread-self/cgroup"), os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()],
        "personality": [LIBC.personality(0xFFFFFFFF), *(number_of(option) for option in (2, 37))],  # PR_GET_PDEATHSIG, ..._CHILD_SUBREAPER
        "io priority": LIBC.syscall(252, 1, 0),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
        "directory": os.getcwd(),
        "umask": umask(),
        "arguments": [open("/proc/self/cmdline").read(), sys.argv],
        "name": open("/proc/self/comm").read(),
        "errno": ctypes.get_errno(),
        "locale": locale.setlocale(locale.LC_ALL),
        "nice": [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))],
        "oom score": open("/proc/self/oom_score_adj").read(),
        "dumpable": [LIBC.prctl(option, 0, 0, 0, 0) for option in (3, 30)],  # PR_GET_DUMPABLE, PR_GET_TIMERSLACK
        "children": len(children.read().split()) if (children := maybe("/proc/thread-self/children")) else 0,
        "gc": [gc.isenabled(), gc.get_threshold(), len(gc.callbacks), gc.get_freeze_count()],
        "hooks": [str(sys.gettrace()), str(sys.getprofile()), sys.getswitchinterval(), sys.getrecursionlimit(), sys.excepthook.__name__],
        "modules": sorted(sys.modules),
        "exit functions": atexit._ncallbacks(),
        "clock": time.tzname,
    }


def environ():
    """The C library's own list."""
    pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, "environ")
    words = []
    while pointer[len(words)] is not None:
        words.append(pointer[len(words)].decode())
    return words


def maybe(path):
    return open(path) if os.path.exists(path) else None


def text_of(path):
    return open(path).read() if os.path.exists(path) else None


def number_of(option):
    value = ctypes.c_int()
    return LIBC.prctl(option, ctypes.byref(value), 0, 0, 0), value.value


def umask():
    old = os.umask(0)
    os.umask(old)
    return old
