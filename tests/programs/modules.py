"""Modules in every kind of holder, and modules that do not want to be looked at. Compares the names that the bridge's probe
(first argument) finds with those that a person would give. Needs no torch: without it a class of the same shape stands in."""
import gc
import sys
import threading
import types

import bridge

try:
    from torch.nn import Linear, Module
except ImportError:
    class Module:
        def __init__(self):
            self.__dict__["_modules"] = {}

        def __setattr__(self, name, value):
            (self._modules if isinstance(value, Module) else self.__dict__)[name] = value

        def __getattr__(self, name):
            if name in self.__dict__["_modules"]:
                return self.__dict__["_modules"][name]
            raise AttributeError(name)

    class Linear(Module):
        def __init__(self, inputs, outputs):
            super().__init__()

    for name in ("torch", "torch.nn", "torch.nn.modules", "torch.nn.modules.module"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torch.nn.modules.module"].Module = Module

user_code = []  # filled by whatever must not run


class Net(Module):
    def __init__(self):
        super().__init__()
        self.fc1 = Linear(2, 2)
        self.fc2 = Linear(2, 2)
        self.shared = self.fc1


class Trainer:
    def __init__(self, net):
        self.net = net
        self.extra = {"teacher": Net(), 7: Net()}


class Slotted:
    __slots__ = ("net",)


class Shy(Module):
    """Every way into it runs code; only its name for itself is wanted."""

    def __init__(self):
        super().__init__()
        self.inner = Linear(2, 2)
        self.__dict__["armed"] = True

    def __getattribute__(self, name):
        if object.__getattribute__(self, "__dict__").get("armed"):
            user_code.append("__getattribute__ " + name)
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        user_code.append("__getattr__ " + name)
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


class Liar(Module):
    """Says that it is of another class."""

    @property
    def __class__(self):
        user_code.append("__class__")
        return int


class Pretender:
    """Says that it is a module."""

    @property
    def __class__(self):
        user_code.append("__class__")
        return Module


class Meta(type):
    def __instancecheck__(cls, instance):
        user_code.append("__instancecheck__")
        return True

    def __subclasscheck__(cls, subclass):
        user_code.append("__subclasscheck__")
        return True

    def __getattribute__(cls, name):
        if name in ("__mro__", "__dict__", "__name__") and armed:
            user_code.append("metaclass " + name)
        return type.__getattribute__(cls, name)

    def __eq__(cls, other):
        user_code.append("metaclass __eq__")
        return True

    def __hash__(cls):
        user_code.append("metaclass __hash__")
        return 1


armed = False


class Tricky(Module, metaclass=Meta):
    pass


class OddDict(dict):
    """Stands for _modules: its raw entries count, not what it says about itself."""

    def items(self):
        user_code.append("items")
        return []

    def __getitem__(self, key):
        user_code.append("__getitem__")
        raise KeyError(key)

    def __iter__(self):
        user_code.append("dict __iter__")
        return iter(())

    def __len__(self):
        user_code.append("__len__")
        return 0


class Key:
    """A key of a dict with the hash of the name that is looked for."""

    def __hash__(self):
        return hash("_modules")

    def __eq__(self, other):
        if armed:
            user_code.append("key __eq__")
        return False


model = Net()
trainer = Trainer(Net())
nets = [Net(), (Net(),)]
slotted = Slotted()
slotted.net = Net()
holder = Net()
holder.__dict__["hidden"] = [Linear(2, 2)]  # held past the register
shy = Shy()
liar = Liar()
tricky = Tricky()
pretender = Pretender()
odd = Net()
odd.__dict__["_modules"] = OddDict(dict.items(odd.__dict__["_modules"]))
odd.__dict__[Key()] = 1
other = types.ModuleType("package.other")
sys.modules["package.other"] = other
other.backbone = Net()


def in_thread(started, stop):
    thread_net = Net()
    started.set()
    stop.wait()
    del thread_net


def in_function(probe):
    local_net = Net()
    captured = Net()
    lists = [Net()]
    snapshot = locals()  # up to 3.12 the very dict that frame.f_locals writes to
    before = dict(snapshot)
    later = 1

    def inner():
        no_spare_lists = [[] for _ in range(1000)]  # so that a new list is an allocation that may collect
        return captured, bridge.names(probe), no_spare_lists

    _, result, _ = inner()
    assert snapshot == before and later == 1, "the program's locals() was changed"
    return result, {id(local_net): "local_net", id(captured): "captured", id(lists[0]): "lists[0]"}


def main():
    global armed
    probe = bridge.attached(sys.argv[1])
    started, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=in_thread, args=(started, stop))
    thread.start()
    started.wait()
    threads = threading.enumerate()
    holders = iter([Net()])
    nobody = id(gc.get_referents(gc.get_referents(holders)[0])[0])
    first, second = Net(), Net()  # each the other's child
    first.other, second.other = second, first
    gc.disable() if "--gc-off" in sys.argv else gc.enable()
    collecting = gc.isenabled()
    known = {thread.ident for thread in threads}
    gc.callbacks.append(lambda *_: user_code.append("collection") if threading.get_ident() not in known else None)
    thresholds = gc.get_threshold()
    gc.set_threshold(1)  # nearly every allocation collects
    armed = True
    user_code.clear()
    (state, found), expected = in_function(probe)
    armed = False
    gc.set_threshold(*thresholds)
    assert user_code == [], user_code
    assert state == "complete\t", state
    assert gc.isenabled() == collecting
    assert threading.enumerate() == threads
    expected.update({
        id(model): "model", id(model.__dict__["_modules"]["fc2"]): "model.fc2",
        id(model.__dict__["_modules"]["fc1"]): "model.fc1",
        id(trainer.net): "trainer.net",
        id(trainer.extra["teacher"]): "trainer.extra['teacher']", id(trainer.extra[7]): "trainer.extra[7]",
        id(nets[0]): "nets[0]", id(nets[1][0]): "nets[1][0]",
        id(holder): "holder", id(holder.hidden[0]): "holder.hidden[0]",
        id(shy): "shy", id(object.__getattribute__(shy, "__dict__")["_modules"]["inner"]): "shy.inner",
        id(liar): "liar", id(tricky): "tricky",
        id(odd): "odd", id(dict.__getitem__(odd.__dict__["_modules"], "fc1")): "odd.fc1",
        id(other.backbone): "package.other.backbone",
        id(first): "first", id(second): "second", nobody: "holders.<list>[0]",
    })
    for address, path in expected.items():
        assert found.get(address, ("", "missing"))[1] == path, (path, found.get(address))
    assert id(pretender) not in found
    assert found[id(model)][0] == "Net" and found[id(liar)][0] == "Liar"
    paths = [path for _, path in found.values()]
    assert len(set(paths)) == len(paths), sorted(paths)
    assert "thread_net" in paths, sorted(paths)
    assert any(path.startswith("slotted") for path in paths), sorted(paths)
    assert bridge.names(probe) == bridge.names(probe)
    counts = [sys.getrefcount(thing) for thing in (model, trainer, nets, shy, Net)]
    bridge.names(probe)
    assert counts == [sys.getrefcount(thing) for thing in (model, trainer, nets, shy, Net)]
    stop.set()
    thread.join()
    print(sys.version.split()[0], len(found), "modules")


main()
