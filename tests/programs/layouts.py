"""What the bridge's probe (first argument) says of tensors and of the stack where one field of the interpreter's layout is wrong
(`FIELD VALUE`), as JSON. Needs no torch: classes of the same shape stand in."""
import ctypes
import gc
import json
import sys
import types

import bridge


class TensorBase:
    __slots__ = ("impl",)


class Tensor(TensorBase):
    pass


class Module:
    def __init__(self):
        self._parameters, self._buffers, self._modules = {}, {}, {}


class Optimizer:
    pass


for module, name, made in (("torch._C", "TensorBase", TensorBase), ("torch.nn.modules.module", "Module", Module),
                           ("torch.optim.optimizer", "Optimizer", Optimizer)):
    while module:
        sys.modules.setdefault(module, types.ModuleType(module))
        module = module.rpartition(".")[0]
sys.modules["torch._C"].TensorBase = TensorBase
sys.modules["torch.nn.modules.module"].Module = Module
sys.modules["torch.optim.optimizer"].Optimizer = Optimizer

probe = bridge.open_probe(sys.argv[1])
probe.probe_layout.restype = probe.probe_stack.restype = ctypes.c_char_p
layout = dict(line.rsplit(" ", 1) for line in probe.probe_layout().decode().splitlines())
if len(sys.argv) > 2:
    probe.probe_change_layout(sys.argv[2].encode(), ctypes.c_long(int(sys.argv[3])))
tags = {}


def tensor(tag):
    made = Tensor()
    made.impl = object()
    bridge.register_tensor(probe, id(made.impl))
    tags[id(made.impl)] = tag
    return made


class Plain:
    def __init__(self, **fields):
        for name, value in fields.items():
            setattr(self, name, value)


def generate():
    held = tensor("of a generator")
    yield 1
    yield held


def outer():
    kept = tensor("in a closure")
    return lambda: kept


def raises():
    local = tensor("of a traceback")
    raise ValueError(local is None)


history = [tensor("list"), tensor("list too")]
plain = Plain(first=tensor("attribute"), second=[tensor("list of an attribute")])
asked = Plain(first=tensor("attribute in a dict"))
asked.__dict__
net = Module()
net._modules["inner"] = Module()
net._modules["inner"]._parameters["weight"] = tensor("parameter")
optimizer = Optimizer()
optimizer.state = {1: {"exp_avg": tensor("state")}}
waiting = generate()
next(waiting)
closure = outer()
try:
    raises()
except ValueError as error:
    raised = error
cycle = [tensor("cycle")]
cycle.append(cycle)
gc.disable()
del cycle
bridge.attached_to(probe)


def asks():
    answer = {"layout": layout, "stack": probe.probe_stack().decode().splitlines()}
    answer["names"], modules = bridge.names(probe)
    answer["modules"] = sorted(modules.values())
    answer["references"], rows = bridge.references(probe)
    answer["rows"] = {tags[address]: found for address, found in rows.items()}
    return answer


def runs(argument):
    local, chunk = tensor("local"), [tensor("list of a local")]
    for element in chunk:
        answer = asks()
    return answer, local, chunk, argument, element


print(json.dumps(runs(tensor("argument"))[0]))
