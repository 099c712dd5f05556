"""Autograd graphs of many kinds: each is dumped twice, and then walked by the program itself, as far as Python sees it.

`graph.py SCENARIO...`; writes TRUTH_DIR/SCENARIO.json. The walk comes after the dumps: it makes Python objects for nodes.
"""

import ctypes
import gc
import json
import os
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

try:
    import libtensorscope
except ImportError:
    libtensorscope = None


hook_calls = {"pack": 0, "unpack": 0}


def pack(tensor):
    hook_calls["pack"] += 1
    return ("packed", tensor.detach().clone())


def unpack(packed):
    hook_calls["unpack"] += 1
    return packed[1]


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, data, factor):
        ctx.save_for_backward(data, None, factor)
        ctx.extra = torch.ones(7)
        return data * factor

    @staticmethod
    def backward(ctx, gradient):
        _, _, factor = ctx.saved_tensors
        return gradient * factor, None


class Nothing(torch.autograd.Function):
    """Saves nothing."""

    @staticmethod
    def forward(ctx, data):
        return data.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


def mlp():
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.5), nn.Linear(16, 4))
    return [nn.functional.cross_entropy(model(torch.randn(6, 8)), torch.tensor([0, 1, 2, 3, 0, 1]))]


def convolution():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    return [model(torch.randn(2, 3, 8, 8))]


def lstm():
    output, (hidden, cell) = nn.LSTM(4, 5, num_layers=2)(torch.randn(3, 2, 4))
    return [output, hidden, cell]


def transformer():
    return [nn.TransformerEncoderLayer(16, 2, 32)(torch.randn(5, 2, 16))]


def autocast():
    model = nn.Linear(8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return [model(model(torch.randn(4, 8))).float().sum()]


def custom():
    data = leaf(5)
    return [Scale.apply(data, torch.ones(5)), Nothing.apply(data), Scale.apply(Scale.apply(data, torch.ones(5)), torch.ones(5))]


def double_backward():
    data = leaf(4)
    (gradient,) = torch.autograd.grad((data.exp() * data.sin()).sum(), data, create_graph=True)
    return [gradient]


def retained():
    data = leaf(4)
    loss = (data.exp() * data).sum()
    loss.backward(retain_graph=True)
    return [loss]


def freed():
    data = leaf(4)
    loss = (data.exp() * data)[torch.tensor([0, 2])].sum() + Scale.apply(data, torch.ones(4)).sum()
    loss.backward()
    return [loss]


def checkpointed():
    block = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    return [checkpoint(block, leaf(2, 4), use_reentrant=False).sum()]


def checkpointed_reentrant():
    block = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    return [checkpoint(block, leaf(2, 4), use_reentrant=True).sum()]


def packed():
    data = leaf(4)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        held = data.exp() * data.sin()
        held = held + Scale.apply(held, torch.ones(4))
        held = held[torch.tensor([0, 1])]
    return [held * held]


def offloaded():
    """The copy of a tensor that is on the CPU already is the tensor itself: what saves its own output keeps itself alive."""
    with torch.autograd.graph.save_on_cpu():
        return [nn.Linear(4, 4)(torch.randn(2, 4)).exp()]


def in_place():
    data = leaf(4, 4) * 1
    data[0] = data[1].exp()
    data[:, 2].mul_(leaf(4))
    data.relu_()
    return [data]


def lists():
    data = leaf(6, 6)
    rows, columns = torch.tensor([0, 1]), torch.tensor([2, 3])
    return [data[rows, columns], data[:, columns], torch.stack([data, data.exp()]), torch.einsum("ij,jk->ik", data, data),
            torch.logsumexp(data, 0), torch._foreach_exp([data, data[0]])[1]]


def multiplicities():
    data = leaf(3)
    return [data * data, torch.cat([data, data.exp(), data]), *data.split(1), torch.svd(leaf(3, 3))[1]]


def hooked():
    data = leaf(3)
    result = data.exp()
    result.retain_grad()
    result.register_hook(lambda gradient: gradient * 1)
    data.register_hook(lambda gradient: None)
    result.grad_fn.register_hook(lambda inputs, outputs: None)
    return [result]


def node_only():
    """A node that only a variable of Python holds."""
    return [(leaf(3).exp() * 2).grad_fn]


def sparse():
    matrix = torch.eye(4).to_sparse().requires_grad_()
    return [torch.sparse.mm(matrix, leaf(4, 2)), nn.functional.embedding(torch.tensor([1, 2]), leaf(4, 3), sparse=True)]


def diamonds():
    data = leaf(1)
    for _ in range(20):
        data = data.exp() + data.sin()
    return [data]


def chain():
    data = leaf(1)
    for _ in range(100_000):
        data = data.exp()
    return [data]


def nothing():
    return [torch.ones(3)]


def compiled():
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
    return [torch.compile(model)(torch.randn(2, 4)).sum()]


def address_of(node):
    """The C++ node of a THPCppFunction: the first word behind the object's head."""
    return ctypes.c_uint64.from_address(id(node) + object.__basicsize__).value


def slot(ordinal, element, saved):
    """What a SavedTensor says of itself without unpacking."""
    row = {"ordinal": ordinal, "element": element}
    if getattr(saved, "unpack_hook", None) is not None:
        return {**row, "state": "packed"}
    if not hasattr(saved, "data"):
        return {**row, "state": None}  # this torch does not report
    if saved.data is None:
        return {**row, "state": "empty"}
    return {**row, "state": "held", "address": saved.data._cdata, "data_ptr": pointer(saved.data)}


def pointer(tensor):
    return tensor.data_ptr() if tensor.layout is torch.strided else 0


def old_slot(node, name, row):
    """Where a SavedTensor tells nothing: the unpacked tensor, an alias for outputs."""
    try:
        value = getattr(node, name)
    except RuntimeError:
        return {**row, "state": "empty"}
    if isinstance(value, (list, tuple)):
        value = value[row["element"]]
    return {**row, "state": "empty"} if value is None else {**row, "state": "held", "data_ptr": pointer(value)}


def saved_by(node, has_hooks):
    if type(node).__name__ == "CppFunction" and not hasattr(node, "variable"):
        return None  # a class that Python does not know
    slots = []
    names = [name for name in type(node).__dict__ if name.startswith("_raw_saved_") and name != "_raw_saved_tensors"]
    is_function = isinstance(node, torch.autograd.function.BackwardCFunction)
    for ordinal, name in enumerate(["_raw_saved_tensors"] if is_function else names):
        try:
            saved = getattr(node, name)
        except RuntimeError:  # a list that was freed
            slots.append({"ordinal": ordinal, "element": 0, "state": "empty"})
            continue
        plain = "saved_tensors" if is_function else name[len("_raw"):]
        for element, part in enumerate(saved or ()) if isinstance(saved, tuple) or saved is None else [(-1, saved)]:
            row = slot(ordinal, element, part)
            if row["state"] is None and not has_hooks:  # else that would unpack
                row = old_slot(node, plain, row)
            slots.append(row)
    if hasattr(node, "variable"):
        slots.append({"ordinal": 0, "element": -1, "state": "held", "address": node.variable._cdata})
    return slots


LONG = 10_000
long_chains = []  # nodes that Python has seen are destroyed by recursion, for which they are too long: they stay


def walk(roots, has_hooks):
    """Every node that Python can reach, in a flat loop."""
    found, waiting = {}, []
    for root in roots:
        node = root.grad_fn if isinstance(root, torch.Tensor) else root
        if node is not None:
            waiting.append(node)
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found[node] = None
        waiting.extend(following for following, _ in node.next_functions if following is not None)
    if len(found) > LONG:
        long_chains.append(found)
    numbers = {node: number for number, node in enumerate(found)}
    rows = []
    for node in found:
        custom = isinstance(node, torch.autograd.function.BackwardCFunction)
        rows.append({
            "name": node.name(), "object": id(node) if custom else 0, "address": 0 if custom else address_of(node),
            "sequence": node._sequence_nr() if hasattr(node, "_sequence_nr") else None,
            "edges": [[None if following is None else numbers[following], number] for following, number in node.next_functions],
            "saved": saved_by(node, has_hooks), "hooks": has_hooks,
        })
    return rows


def show(name):
    torch.manual_seed(0)
    roots = globals()[name]()
    for _ in range(2):  # of what the scenario before left behind, one collection may free only the outer part
        gc.collect()
    before = dict(hook_calls)
    dumps = [libtensorscope.dump(), libtensorscope.dump()] if libtensorscope else []
    called = {kind: hook_calls[kind] - before[kind] for kind in hook_calls}
    rows = walk(roots, name in ("checkpointed", "packed", "offloaded"))
    with open(os.path.join(os.environ.get("TRUTH_DIR", "."), f"{name}.json"), "w") as file:
        json.dump({"dumps": dumps, "called": called, "nodes": rows}, file)


for scenario in sys.argv[1:]:
    show(scenario)
sys.stdout.flush()
if long_chains:
    os._exit(0)
