"""Depth, memory, reused addresses, fork, threads that end, wrong layouts: the part of python_frames.py about what must hold
beyond single stacks.
"""
import atexit
import os
import sys
import threading

from python_frames_probe import VERSION, capture, here, probe, raw_frames, require, results


def recursion(depth=6):
    if depth == 0:
        return here("recursion")
    return recursion(depth - 1)


def deep():
    sys.setrecursionlimit(10000)
    recursion(500)
    recursion(480)
    recursion(500)

    def descend(depth):
        if depth:
            return descend(depth - 1)
        return capture()

    for depth in (2400, 2300, 2400, 5):
        raw = raw_frames(descend(depth))
        if depth < 100:
            require("too deep", raw[-1].name == b"<module>", "a shallow stack is cut")
            continue
        require("too deep", raw[-1].name == b"<outer frames not recorded>" and raw[-1].line == 0, "no mark")
        require("too deep", len(raw) == 2049 and {f.name.rpartition(b".")[2] for f in raw[:-1]} == {b"descend"},
                "%d frames" % len(raw))


def reused_addresses():
    """Code objects that are freed and whose address, with the addresses of all they point to, is used again."""
    names = ["aaaa", "bbbb", "cccc", "dddd"]
    places = {}
    for i in range(400):
        name = names[i % 4]
        source = "\n" * (i % 3) + "def %s():\n  (%s  here('reused address'))\n%s()\ncode = %s.__code__\n" % (
            name, "\n" * (i % 5), name, name)
        space = {"here": here}
        exec(compile(source, "<text %s>" % names[(i // 4) % 4], "exec"), space)
        places.setdefault(id(space.pop("code")), set()).add(source)
        space.clear()
    require("reused address", any(len(sources) > 1 for sources in places.values()), "no address was used twice")


def repeated_code():
    """The same text compiled again and again is one code object in the table."""
    source = compile("x = 1", "<one>", "exec")
    before = None
    for i in range(300):
        exec(compile("capture()", "<same text>", "exec"), {"capture": capture})
        if i == 10:
            before = (probe.probe_codes(), probe.probe_frames())
    require("repeated code", before == (probe.probe_codes(), probe.probe_frames()), "the tables grow")
    return source


def forks():
    """A child goes on with what it inherited."""
    pid = os.fork()
    if pid == 0:
        before = len(results["failures"])
        probe.probe_after_fork()
        recursion(3)
        exec(compile("here('child')", "<child>", "exec"), {"here": here})
        os._exit(0 if len(results["failures"]) == before else 1)
    require("fork", os.waitpid(pid, 0)[1] == 0, "the child's stacks differ")


def short_threads():
    """Threads that end give back what was kept for them; the smallest stack that Python allows is enough."""
    def one(size):
        threading.stack_size(size)
        worker = threading.Thread(target=here, args=("short thread",))
        worker.start()
        worker.join()
        threading.stack_size(0)

    one(65536)
    before = probe.probe_memory()
    for _ in range(100):
        one(65536)
    require("short threads", probe.probe_memory() - before < 1 << 20, "%d bytes" % (probe.probe_memory() - before))


class AtTheEnd:
    """Captures while the interpreter goes down; nothing is compared, it must only not fail."""

    def __init__(self, function):
        self.function = function

    def __del__(self):
        self.function()


last = AtTheEnd(capture)
atexit.register(capture)


def fill():
    """Ever new code objects, until the tables take no more: then there is no stack, and it is counted."""
    def one(i):
        space = {"capture": capture}
        exec(compile("def f():\n  return capture()\nleaf = f()\n", "<%d %s>" % (i, "x" * 500), "exec"), space)
        return space["leaf"]

    known = []
    i = 0
    for full in (False, True):
        while full and i < 100000 and one(i):
            i += 1
        known.append(capture())
    require("fill", 100 < i < 100000, "full after %d" % i)
    require("fill", probe.probe_missed() > 0, "nothing is missed")
    require("fill", probe.probe_memory() < 4 << 20, "%d bytes" % probe.probe_memory())
    require("fill", known[0] != 0 and known[0] == known[1], "a known stack is lost: %s" % known)


def wrong_layouts():
    """Another series' layout is found out, and without a crash."""
    require("wrong layout", probe.probe_sound_as(0) == 1, "the right layout is refused")
    objects = [0x030812f0, 0x030912f0, 0x030a0df0]  # these three differ in f_lasti alone
    for version in objects + [0x030b07f0, 0x030c01f0]:
        same = version >> 16 == sys.hexversion >> 16 or VERSION < (3, 11) and version in objects
        if VERSION < (3, 13) or version != 0x030c01f0:  # 3.13 differs from 3.12 in the thread state alone
            require("wrong layout", (probe.probe_sound_as(version) == 1) == same, "%x" % version)
