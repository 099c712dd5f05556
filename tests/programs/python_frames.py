"""Captures its own Python stacks in every shape a program can have, with the GIL released, and compares each with what the
interpreter itself says: file, function, first line, line. Any CPython from 3.8 on; no torch.
usage: python_frames.py PROBE_LIBRARY [--check | --fill | --cost]          prints one JSON object
  --check  asks for the self-check with the GIL, too
  --fill   only makes ever new code objects, until TENSORSCOPE_MAX_STACK_MEMORY is reached
  --cost   nanoseconds a capture, by depth: unchanged, and with another instruction in the innermost frame
"""
import asyncio
import contextlib
import ctypes
import functools
import json
import random
import sys
import threading
import traceback

import python_frames_limits as limits
from python_frames_limits import recursion
from python_frames_probe import (VERSION, capture, entry_names, here, probe, raw_frames, require, results, true_frames,
                                 with_gil)

# ---- one function a shape ---------------------------------------------------------------------------------------------


def many_lines():
    here("many lines")
    here(

        "many lines",
        [x for x in range(3)],
    )
    value = (1 +
             len(here("many lines")) +
             2)
    return {
        "a": 1,
        "b": here(
            "many lines"),
    }, value


def callbacks():
    raw = list(map(lambda x: here("lambda in map"), (1,)))[0]
    if VERSION >= (3, 11):
        require("lambda in map", entry_names(raw)[0] == "<lambda>" and not raw[0].entry, "entries " + str(entry_names(raw)))
    sorted([3, 1, 2], key=lambda x: (here("sort key"), x)[1])
    functools.reduce(lambda a, b: here("reduce"), [1, 2, 3])
    functools.partial(here, "partial")()
    functools.lru_cache(maxsize=None)(lambda: here("cache"))()
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    kind(lambda x: len(here("ctypes callback")) and x)(7)

    class Odd:
        def __del__(self):
            here("destructor")

        def __len__(self):
            here("slot")
            return 1

        def __getattr__(self, name):
            return here("getattr")

        @property
        def size(self):
            return here("property")

        def __eq__(self, other):
            here("comparison")
            return True

        __hash__ = None

    odd = Odd()
    len(odd), odd.size, odd.nothing, odd == 3, odd in [4]
    del odd


def generators():
    def numbers(n):
        for i in range(n):
            here("generator")
            try:
                yield i
            finally:
                here("generator finally")

    for _ in numbers(2):
        here("generator's consumer")
    list(numbers(2))

    def delegating():
        yield from numbers(2)
        received = yield here("generator send")
        here("generator send", received)
        try:
            yield
        except KeyError:
            here("generator throw")
        yield

    running = delegating()
    for _ in range(3):
        next(running)
    running.send("x")
    running.throw(KeyError)
    running.close()
    list(here("generator expression") for _ in range(2))


def switching():
    """Two towers of generators that take turns, so that frames come back at other depths."""
    def tower(name, height):
        if height == 0:
            while True:
                here("switching")
                yield name
        elif height % 2:
            yield from tower(name, height - 1)
        else:
            for value in tower(name, height - 1):
                here("switching")
                yield value

    towers = [tower("a", 3), tower("b", 6), tower("c", 1)]
    turns = random.Random(1)

    def deeper(levels, generator):
        if levels:
            return deeper(levels - 1, generator)
        return next(generator)

    for _ in range(60):
        deeper(turns.randrange(4), turns.choice(towers))


def coroutines():
    async def leaf(label):
        here(label)
        await asyncio.sleep(0)
        here(label)

    async def items():
        for i in range(2):
            await leaf("async generator")
            yield i

    class Manager:
        async def __aenter__(self):
            here("async with")

        async def __aexit__(self, *_):
            await leaf("async with")

    async def main():
        await leaf("coroutine")
        await asyncio.gather(*(leaf("gather") for _ in range(3)))
        async for _ in items():
            here("async for")
        async with Manager():
            here("async with")
        [await leaf("async comprehension") async for _ in items()]

    asyncio.new_event_loop().run_until_complete(main())


def comprehensions():
    [here("list") for _ in range(2)]
    {str(here("set")) for _ in range(2)}
    {i: here("dict") for i in range(2)}
    [[here("nested") for _ in range(2)]
     for _ in range(2)
     if here("condition")]


def bodies():
    raw = []

    class Body:
        raw.append(here("class body"))
        value = [here("class body")
                 for _ in range(1)]

        class Inner:
            here("class body")

    if VERSION >= (3, 11):
        require("class body", entry_names(raw[0])[0] == "Body", "entries " + str(entry_names(raw[0])))
    exec("here('exec')\n\n\nhere('exec')", {"here": here})
    exec(compile("def f():\n  return here('exec')\n\nf()\n", "<made up>", "exec"), {"here": here})
    eval("here('eval')", {"here": here})
    raw = eval("f()", {"f": lambda: here("eval")})
    if VERSION >= (3, 11):
        require("eval", entry_names(raw)[0] == "<module>", "entries " + str(entry_names(raw)))


def flow():
    try:
        here("try")
        try:
            raise ValueError
        except ValueError:
            here("except")
            raise KeyError
        finally:
            here("finally")
    except KeyError:
        here("except")
    else:
        pass

    @contextlib.contextmanager
    def manager():
        here("with")
        yield
        here("with")

    with manager(), contextlib.suppress(ZeroDivisionError):
        here("with")
        1 / 0
    while True:
        if here("loop"):
            break
    x = 1 if here("ternary") else 2
    assert here("assert"), here("assert")
    return (x
            and here("bool")
            and not
            here("bool"))


def tracing():
    def tracer(frame, event, argument):
        return tracer

    sys.settrace(tracer)
    try:
        here("settrace")
        recursion(2)
        for _ in (1, 2):
            here("settrace")
    finally:
        sys.settrace(None)
    sys.setprofile(lambda *_: None)
    try:
        many_lines()
    finally:
        sys.setprofile(None)
    if VERSION >= (3, 12):
        monitoring = sys.monitoring
        monitoring.use_tool_id(2, "python_frames")
        monitoring.register_callback(2, monitoring.events.LINE, lambda *_: here("monitoring"))
        monitoring.register_callback(2, monitoring.events.INSTRUCTION, lambda *_: None)
        monitoring.set_events(2, monitoring.events.INSTRUCTION)
        flow()
        monitoring.set_events(2, 0)
        monitoring.free_tool_id(2)


def unicode_names():
    def größe():
        here("unicode")

    def 関数():
        here("unicode")
        größe()

    class Ünï:
        def 方法(self):
            関数()

    Ünï().方法()
    for name in ("/tmp/é.py", "/tmp/ファイル.py", "/tmp/🐍 𝔘.py", "/tmp/\u0100ż.py"):
        exec(compile("def f():\n\n  here('unicode file')\nf()", name, "exec"), {"here": here})


def threads():
    def work(seed):
        turns = random.Random(seed)
        for _ in range(30):
            random_calls(turns, turns.randrange(1, 9), "threads")

    workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def random_calls(turns, depth, label):
    if depth == 0:
        return here(label)
    kind = turns.randrange(8)
    if kind == 0:
        return random_calls(turns, depth - 1, label)
    if kind == 1:
        return [random_calls(turns, depth - 1, label)
                for _ in range(1)]
    if kind == 2:
        return next(iter(
            map(lambda d: random_calls(turns, d, label), (depth - 1,))))
    if kind == 3:
        return next(random_calls(turns, depth - 1, label) for _ in range(1))
    if kind == 4:
        try:
            raise ValueError
        except ValueError:
            return random_calls(turns,
                                depth - 1,
                                label)
    if kind == 5:
        return eval("random_calls(turns, depth - 1, label)", globals(), locals())
    if kind == 6:
        here(label)
        return functools.partial(random_calls, turns)(depth - 1, label)
    return (lambda: random_calls(turns, depth - 1, label))()


def random_programs():
    turns = random.Random(3)
    for _ in range(200):
        random_calls(turns, turns.randrange(1, 14), "random")


def modules():
    """torch's call wrappers, as the several versions of torch write them."""
    def define(text):
        space = {"capture": capture}
        exec(compile(text, "/x/torch/nn/modules/module.py", "exec"), space)
        return space["Module"]

    wrapped = define("class Module:\n"
                     "  def _wrapped_call_impl(self, *args):\n    return self._call_impl(*args)\n"
                     "  def _call_impl(self, *args):\n    def inner():\n      return self\n    return self.forward(*args)\n"
                     "  __call__ = _wrapped_call_impl\n")
    plain = define("class Module:\n"
                   "  def _call_impl(self, *args):\n    return self.forward(*args)\n"
                   "  __call__ = _call_impl\n")

    for base in (wrapped, plain):
        class Leaf(base):
            def forward(self):
                return capture()

        class Tree(base):
            def __init__(self, children):
                self.children = children

            def forward(self):
                return [(child, child()) for child in self.children]

        leaves = [Leaf() for _ in range(3)]
        model = Tree([Tree(leaves[:2]), Tree(leaves[1:])])
        for tree, captured in model() + model():
            for leaf, stack in captured:
                seen = [f.module_object for f in raw_frames(stack) if f.module_object]
                require("modules", seen == [id(leaf), id(tree), id(model)], "%s: %s" % (base, seen))

    if VERSION >= (3, 11):
        leaf = type("Leaf", (wrapped,), {"forward": lambda self: capture()})()
        seen = [f.module_object for f in raw_frames(leaf._call_impl()) if f.module_object]
        require("modules", seen == [id(leaf)], "self in a cell: %s" % seen)


def entries():
    def inner():
        return here("entry")

    raw = inner()
    names = [f.name.decode().rpartition(".")[2] for f in raw]
    require("entry", names[:3] == ["here", "inner", "entries"], str(names))
    expected = [True] * 3 if VERSION < (3, 11) else [False] * 3
    require("entry", [bool(f.entry) for f in raw[:3]] == expected, str([f.entry for f in raw]))
    if VERSION < (3, 11):
        require("entry", all(f.entry for f in raw), "each frame is a native call of its own")


def repeated():
    def one():
        return here("repeated")

    def deeper(n):
        return one() if n == 0 else deeper(n - 1)

    for _ in range(60):
        one()
        deeper(1)
        list(map(lambda n: deeper(n), (2, 3)))
        one()


def standard_library():
    leaf, stack = capture(), traceback.extract_stack()
    ours = [(f.file.decode(), f.line) for f in raw_frames(leaf)][::-1]
    require("traceback", ours == [(f.filename, f.lineno) for f in stack], "%s %s" % (ours, stack))


def main(shapes):
    if "--both" in sys.argv:
        probe.probe_start_native()
    if not probe.probe_start():
        results["failures"].append({"label": "start", "problem": probe.probe_detail().decode()})
        return
    if "--check" in sys.argv:
        require("check", with_gil.probe_check() == 1, "the self-check disagrees")
        require("check", b"checked against the interpreter" in probe.probe_detail(), probe.probe_detail().decode())
        outcome = []
        worker = threading.Thread(target=lambda: outcome.append(with_gil.probe_check()))
        worker.start()
        worker.join()
        require("check", outcome == [1], "the self-check disagrees in a thread")
    for shape in shapes:
        shape()


def cost():
    """Nanoseconds a capture at a depth of about 2, 12 and 42 frames: unchanged, and with a changed innermost frame."""
    def descend(depth):
        if depth:
            return descend(depth - 1)
        return [round(min(probe.probe_cost(5000, change) for _ in range(100)), 1) for change in (0, 1)]

    base = len(true_frames(sys._getframe())) + 1
    return {depth: descend(depth - base) for depth in (3, 12, 42)}


SHAPES = [recursion, many_lines, callbacks, generators, switching, coroutines, comprehensions, bodies, flow, tracing,
          unicode_names, threads, random_programs, modules, entries, repeated, standard_library, limits.deep, limits.reused_addresses,
          limits.repeated_code, limits.wrong_layouts, limits.forks, limits.short_threads]

if "--cost" in sys.argv:
    probe.probe_start()
    results = cost()
elif "--fill" in sys.argv:
    main([limits.fill])
else:
    main(SHAPES)
    require("missed", probe.probe_missed() == 0, "%d captures were missed" % probe.probe_missed())
    results["expected"], results["other"] = probe.probe_expected(), probe.probe_other()
if "--cost" not in sys.argv:
    results["detail"] = probe.probe_detail().decode()
    results["memory"] = probe.probe_memory()
print(json.dumps(results))
