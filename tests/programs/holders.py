"""Tensors in every kind of holder, each with the chain that a person would write. Has itself dumped twice and writes what it
knows to $TRUTH_DIR/holders.json. With `--probe LIBRARY` it needs no torch: a class of the same shape stands in for the tensor,
and the answers of the bridge's probe are compared at once."""
import asyncio
import atexit
import builtins
import collections
import dataclasses
import functools
import gc
import itertools
import json
import os
import sys
import threading
import types
import weakref

PROBE = "--probe" in sys.argv
user_code = []  # filled by whatever must not run

if PROBE:
    import bridge

    class TensorBase:
        __slots__ = ("impl",)  # where the interpreter keeps a slot, a tensor has its TensorImpl

    class Tensor(TensorBase):
        pass

    for name in ("torch", "torch._C"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torch._C"].TensorBase = TensorBase
    probe = bridge.attached(sys.argv[-1])
else:
    import libtensorscope
    import torch


def tensor():
    if not PROBE:
        return torch.ones(3)
    made = Tensor()
    made.impl = object()
    bridge.register_tensor(probe, id(made.impl))
    return made


def address(held):
    return id(held.impl) if PROBE else held._cdata


SCRIPT = os.path.basename(__file__)
known = {}  # address: [root, scope, text] of every holder
calls = {}  # address: [thread, depth] of the running call whose variable holds it


def expect(held, text, root="global", scope=SCRIPT):
    known.setdefault(address(held), []).append([root, scope, text])
    return held


class Plain:
    pass


class Slotted:
    __slots__ = ("weight", "__dict__")


class Base:
    __slots__ = ("first",)


class Derived(Base):
    __slots__ = ("second",)


@dataclasses.dataclass
class Data:
    loss: object
    extra: dict


class Registry:
    cache = {"x": expect(tensor(), "Registry.cache['x']", "class")}


class Shy:
    def __init__(self, held):
        self.held = held
        self.armed = True

    def __getattribute__(self, name):
        if name != "__dict__":
            user_code.append(name)
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        user_code.append(name)
        raise AttributeError(name)

    @property
    def parent(self):
        user_code.append("property")
        raise RuntimeError("looked at")

    def __repr__(self):
        user_code.append("__repr__")
        return "shy"

    def __eq__(self, other):
        user_code.append("__eq__")
        return True

    def __hash__(self):
        user_code.append("__hash__")
        return 1

    def __iter__(self):
        user_code.append("__iter__")
        return iter(())

    def __del__(self):
        user_code.append("__del__")


class Listed(list):
    def __iter__(self):
        user_code.append("list __iter__")
        return iter(())

    def __getitem__(self, index):
        user_code.append("list __getitem__")
        return None

    def __len__(self):
        user_code.append("list __len__")
        return 0


variable = expect(tensor(), "variable")
alias = [expect(variable, "alias[0]")]
history = [{"loss": expect(tensor(), f"history[{i}]['loss']")} for i in range(3)]
nested = {"a b": [(1, {7: expect(tensor(), "nested['a b'][0][1][7]")})]}
raw = b"raw"
keyed = {(1, "x"): expect(tensor(), "keyed[(1, 'x')]"), None: expect(tensor(), "keyed[None]"), 2.5: expect(tensor(), "keyed[2.5]"),
         True: expect(tensor(), "keyed[True]"), raw: expect(tensor(), f"keyed[bytes at {id(raw):#x}]")}
plain = Plain()
plain.inner = Plain()
plain.inner.weight = expect(tensor(), "plain.inner.weight")
plain.history = [0, expect(tensor(), "plain.history[1]")]
slotted = Slotted()
slotted.weight = expect(tensor(), "slotted.weight")
slotted.other = expect(tensor(), "slotted.other")
derived = Derived()
derived.first, derived.second = expect(tensor(), "derived.first"), expect(tensor(), "derived.second")
data = Data(expect(tensor(), "data.loss"), {"k": expect(tensor(), "data.extra['k']")})
Pair = collections.namedtuple("Pair", "left right")
pair = Pair(expect(tensor(), "pair.left"), [expect(tensor(), "pair.right[0]")])
queue = collections.deque([0, "x", expect(tensor(), "queue[2]"), 1])
unordered = {expect(tensor(), "unordered{Tensor}")}
ordered = collections.OrderedDict(k=expect(tensor(), "ordered['k']"))
# CPython 3.15's frozendict; elsewhere what has the same names stands in.
fixed = getattr(builtins, "frozendict", dict)(inner=[expect(tensor(), "fixed['inner'][0]")], k=expect(tensor(), "fixed['k']"))
grouped = collections.defaultdict(list)
grouped["g"].append(expect(tensor(), "grouped['g'][0]"))
listed = Listed([expect(tensor(), "listed[0]")])
listed.note = expect(tensor(), "listed.note")
shy = Shy(expect(tensor(), "shy.held"))
partial = functools.partial(print, expect(tensor(), "partial.args[0]"), end=expect(tensor(), "partial.keywords['end']"))
iterator = iter([expect(tensor(), "iterator.<list>[0]")])
# Two lists that a C object refers to in fields without names are not called alike.
compressed = itertools.compress([expect(tensor(), "compressed.<list_iterator 1>.<list>[0]")],
                                [expect(tensor(), "compressed.<list_iterator 2>.<list>[0]")])
read_only = types.MappingProxyType({"k": expect(tensor(), "read_only['k']")})
in_two = Plain()
in_two.weight = expect(tensor(), "timeline[0].weight")
timeline, by_label = [in_two], {"first": [in_two]}
del in_two
shared = tensor()
holders = [[shared] for _ in range(400)]
other = types.ModuleType("package.other")
sys.modules["package.other"] = other
other.cached = expect(tensor(), "cached", scope="package.other")
referent = tensor()
weak = weakref.ref(referent)
weak_values = weakref.WeakValueDictionary(k=referent)
deep = []
innermost = deep
for _ in range(10_000):
    innermost.append([])
    innermost = innermost[0]
innermost.append(tensor())
at_depth = innermost.pop()
innermost.append(at_depth)
del innermost
million = dict.fromkeys(range(1_000_000), 0)
million[777_777] = expect(tensor(), "million[777777]")
local_values = threading.local()
local_values.mine = expect(tensor(), "local_values.mine")
frozen = [expect(tensor(), "frozen[0]")]


def make_closure():
    captured = expect(tensor(), "closure of function: captured")
    container = {"k": [expect(tensor(), "closure of function: container['k'][0]")]}

    def inner(positional, default=expect(tensor(), "default of function: default"), *,
              keyword=expect(tensor(), "default of function: keyword")):
        return captured, container

    return inner


function = make_closure()
function.attribute = expect(tensor(), "function.attribute")


def make_class(text, root="global"):
    class Made(Base):
        held = [expect(tensor(), text, root)]

        def __init__(self):
            super().__init__()

    return Made


classes = [make_class("classes[0].held[0]")]
by_name = {"first": make_class("by_name['first'].held[0]")}
made_for_it = make_class("made_for_it.__class__.held[0]")()


def make_one():
    class Lone:
        held = [expect(tensor(), "Lone.held[0]", "class")]

    return Lone()


lone = make_one()


class Hooked:
    def __init__(self):
        self.state = expect(tensor(), "method.__self__.state")

    def call(self):
        pass


method = Hooked().call


def produce():
    waiting = expect(tensor(), "waiting", "suspended", f"produce ({SCRIPT}: generator)")
    yield 1
    print(waiting)


async def wait():
    awaited = expect(tensor(), "awaited", "suspended", f"wait ({SCRIPT}: coroutine)")
    await Suspend()
    print(awaited)


class Suspend:
    def __await__(self):
        yield


generator = produce()
next(generator)
coroutine = wait()
coroutine.send(None)


def fail(argument):
    failing = expect(tensor(), "failing", "traceback", f"ValueError in fail ({SCRIPT}: error)")
    raise ValueError(len(argument))


try:
    fail([])
except ValueError as caught:
    error = caught


def fail_last():
    at_prompt = expect(tensor(), "at_prompt", "traceback", "KeyError in fail_last (sys: last_value)")
    raise KeyError


try:
    fail_last()
except KeyError as caught:
    sys.last_value = caught


class Node:
    pass


def make_cycle():
    node = Node()
    node.itself = [node]
    node.weight = tensor()
    return address(node.weight)


class Closing:
    def __init__(self):
        self.state = expect(tensor(), "Closing.close.__self__.state", scope="atexit")

    def close(self):
        pass


def ignore(*arguments, **keywords):
    pass


def keep_for_exit():
    for _ in range(40):  # more than atexit first has room for
        atexit.register(print, end="")
    atexit.register(Closing().close)
    gone = atexit.register(Closing().close)
    atexit.register(make_handler())
    atexit.register(ignore, expect(tensor(), "ignore.args[0]", scope="atexit"), last=expect(tensor(), "ignore.kwargs['last']", scope="atexit"))
    atexit.register(min, [expect(tensor(), "min.args[0][0]", scope="atexit")])
    known.pop(address(gone.__self__.state))
    atexit.unregister(gone)


def make_handler():
    written = expect(tensor(), "closure of make_handler.<locals>.handler: written", scope="atexit")

    def handler():
        return written

    return handler


def in_thread(started, stop):
    def wait_within():
        started.set()
        stop.wait()

    of_thread = expect(tensor(), "of_thread", "local", "in_thread")
    listed_there = [expect(tensor(), "listed_there[0]", "local", "in_thread")]
    local_values.theirs = expect(tensor(), "local_values.theirs", scope=f"{SCRIPT}, thread reader")
    recurse(1, wait_within)
    del of_thread, listed_there


def recurse(depth, then):
    same = [expect(tensor(), "same[0]", "local", "recurse")]
    calls[address(same[0])] = [threading.current_thread().name, depth]
    return then() if depth == 2 else recurse(depth + 1, then)


def look():
    """The rows of each tensor as the probe tells them, or the path of a dump."""
    return bridge.references(probe) if PROBE else libtensorscope.dump()


def in_functions():
    local = expect(tensor(), "local", "local", "in_functions")
    in_cell = expect(tensor(), "in_cell", "local", "in_functions")
    container = [expect(tensor(), "container[0]", "local", "in_functions")]

    def inner():
        return in_cell

    # From CPython 3.15 on a loop goes through a tuple without an iterator.
    through = "<tuple>[0]" if sys.version_info >= (3, 15) else "<tuple_iterator>.<tuple>[0]"
    for _ in [expect(tensor(), through, "local", "in_functions"), 0]:
        known[address(_)].append(["local", "in_functions", "_"])
        first = look()
        second = look()
        return first, second, inner, local, container


def main():
    started, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=in_thread, args=(started, stop), name="reader")
    thread.start()
    started.wait()
    gc.collect()
    gc.disable()
    in_frozen_cycle = make_cycle()
    gc.freeze()
    keep_for_exit()
    in_cycle = make_cycle()
    audited = []
    mine = threading.get_ident(), thread.ident
    sys.addaudithook(lambda event, _: audited.append(event) if threading.get_ident() not in mine else None)
    thresholds, threads = gc.get_threshold(), threading.enumerate()
    watched = [plain, history, shy, Plain, nested, generator]
    counts = [sys.getrefcount(thing) for thing in watched]
    user_code.clear()
    first, second, *_ = recurse(1, in_functions)
    assert user_code == [], user_code
    assert set(audited) <= {"gc.get_objects"}, audited
    assert counts == [sys.getrefcount(thing) for thing in watched]
    assert not gc.isenabled() and gc.get_threshold() == thresholds and threading.enumerate() == threads
    gc.enable()
    look()
    assert gc.isenabled()
    gone = weakref.ref(plain.inner)
    del plain.inner.weight
    plain.inner = None
    assert gone() is None, "something keeps an object"
    stop.set()
    thread.join()
    truth = {"known": known, "shared": address(shared), "weak": address(referent), "deep": address(at_depth),
             "cycle": in_cycle, "in_two": address(timeline[0].weight),
             "frozen_cycle": in_frozen_cycle, "calls": calls, "dumps": [first, second]}
    if PROBE:
        check(truth)
    else:
        with open(os.path.join(os.environ["TRUTH_DIR"], "holders.json"), "w") as file:
            json.dump(truth, file)
    coroutine.close()


def check(truth):
    (state, rows), again = truth["dumps"]
    assert state == "complete\t", state
    assert (state, rows) == again, "two looks differ"
    for where, chains in truth["known"].items():
        found = [row[:3] for row in rows.get(where, [])]
        for chain in chains:
            assert chain in found, (chain, found)
    assert len(rows[truth["shared"]]) == 256
    assert [row[2] for row in rows[truth["weak"]]] == ["referent"]
    assert any(row[0] == "global" and row[2].startswith("deep[0][0]") for row in rows[truth["deep"]])
    for cycle in (truth["cycle"], truth["frozen_cycle"]):
        assert [row[:3] for row in rows[cycle]] == [["cycle", "Node, list", "Node.weight"]] or \
            rows[cycle][0][:1] == ["cycle"], rows[cycle]
    print(sys.version.split()[0], len(rows), "tensors")


main()
