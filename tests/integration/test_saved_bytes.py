# SPDX-License-Identifier: Apache-2.0
"""`--calls`: bytes that autograd saved in each call, against what saved_tensors_hooks sees, and backward passes of a kept graph."""

# Covers: preload/torch_events/{saved_tensors,backward_calls}.cc

import json

import harness
import pytest
import values_reader

pytest.importorskip("flatbuffers")

PROGRAM = """
import json, sys, torch
torch.manual_seed(1)
class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.transpose(-1, -2)).softmax(-1)
        return self.out(scores @ v)
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        made = torch.cat([x, x])
        ctx.save_for_backward(x, made)
        return x * x
    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]
class Custom(torch.nn.Module):
    def forward(self, x):
        return Square.apply(x)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attn, self.custom, self.drop = torch.nn.LayerNorm(16), Attention(), Custom(), torch.nn.Dropout(0.5)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 16))
        self.lstm = torch.nn.LSTM(16, 16)
    def forward(self, x):
        x = x + self.attn(self.norm(x))
        x = self.lstm(x + self.drop(self.mlp(x)))[0]
        return self.custom(x)
model = torch.nn.ModuleList([Block(), Block()])
class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = model
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
whole = Whole()
x = torch.randn(4, 8, 16)
if sys.argv[1:] == ["truth"]:
    running, truth, made_before, owned = [], {}, {p.untyped_storage().data_ptr() for p in whole.parameters()}, {x.untyped_storage().data_ptr()}
    everything = {}
    def pack(tensor):
        storage = tensor.untyped_storage()
        for call in running:
            if storage.data_ptr() not in call[1]:
                call[2][storage.data_ptr()] = storage.nbytes()
        everything[storage.data_ptr()] = tensor
        return tensor
    names = {module: name for name, module in whole.named_modules()}
    def before(module, arguments):
        known = made_before | owned | set(everything) | {each.untyped_storage().data_ptr() for each in arguments if torch.is_tensor(each)}
        running.append((module, known, {}))
    def after(module, arguments, result):
        module, _, saved = running.pop()
        truth[names[module]] = sum(saved.values())
    torch.nn.modules.module.register_module_forward_pre_hook(before)
    torch.nn.modules.module.register_module_forward_hook(after)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        loss = whole(x).sum()
    print(json.dumps(truth))
else:
    loss = whole(x).sum()
    loss.backward()
"""


def calls_of(values):
    return [call for call in values.calls if not call.flags & values_reader.BACKWARD]


def test_each_call_has_the_bytes_that_autograd_saved(tmp_path):
    truth = harness.run_source(PROGRAM, "truth", folder=tmp_path, preload=False)
    assert truth.returncode == 0, truth.stderr
    expected = json.loads(truth.stdout)
    done = harness.run_source(PROGRAM, folder=tmp_path, exit="never", calls=1)
    assert done.returncode == 0, done.stderr
    found = {call.module.removeprefix("whole").removeprefix("."): call.saved for call in calls_of(values_reader.read(tmp_path))}
    assert found == expected and sum(value > 0 for value in found.values()) > 12


def test_what_is_gone_or_was_there_before_is_not_counted(tmp_path):
    source = """
import torch
from torch.utils.checkpoint import checkpoint
class Model(torch.nn.Module):
    def forward(self, x):
        temporary = x.tanh()  # it has saved its result
        del temporary
        return (x.exp() * 2).sin()
class Checkpointed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Model()
    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)
model, outer = Model(), Checkpointed()
x = torch.ones(1000, requires_grad=True)
model(x)                     # the graph dies with the result, which nobody keeps
y = model(x)                 # exp saves its result, sin its argument, the product the number 2
with torch.no_grad():
    z = model(x)
w = outer(x)                 # nothing but x is kept, and the number
"""
    done = harness.run_source(source, folder=tmp_path, exit="never", calls=1)
    assert done.returncode == 0, done.stderr
    saved = [(call.module, call.saved) for call in sorted(calls_of(values_reader.read(tmp_path)), key=lambda call: call.id)]
    assert saved[:3] == [("model", 8008), ("model", 8008), ("model", 0)]
    assert dict(saved[3:])["outer"] == 8


def test_backward_passes_of_a_kept_graph_are_told_apart(tmp_path):
    source = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
loss = model(torch.ones(2, 4)).sum()
for i in range(3):
    loss.backward(retain_graph=True)
model(torch.ones(2, 4)).sum().backward()
"""
    done = harness.run_source(source, folder=tmp_path, exit="never", calls=1)
    assert done.returncode == 0, done.stderr
    backwards = [call for call in values_reader.read(tmp_path).calls if call.flags & values_reader.BACKWARD]
    for module in ("model", "model.0", "model.2"):
        of_module = sorted((call for call in backwards if call.module == module), key=lambda call: call.begin_ns)
        assert [call.parent for call in of_module] == [of_module[0].parent] * 3 + [of_module[3].parent] and len(of_module) == 4
        assert of_module[0].parent != of_module[3].parent
        assert all(a.end_ns <= b.begin_ns for a, b in zip(of_module, of_module[1:]))
