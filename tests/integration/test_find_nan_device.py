# SPDX-License-Identifier: Apache-2.0
"""--find-nan for tensors on devices: the checks that run there, on the CPU's tensors in the place of a device's, and the way of a
finding through the CUDA build of torch on the double of the CUDA libraries."""

# Covers: preload/find_nan/device_checks.cc

import json

import harness
import pytest

SOURCE = (harness.ROOT / "preload/find_nan/device_checks.py").read_text()

# What every program below begins with: the checks, which take each tensor for one on a device.
BEGIN = """
import json, sys, torch
from torch import nn
said = []
names = lambda number: {id(m): name for name, m in model.named_modules()}.get(number)
own = {"torch": torch, "nn_module": sys.modules["torch.nn.modules.module"], "optim": sys.modules["torch.optim.optimizer"], "checked": lambda count: said.append(count),
       "found": lambda number, parameter, step, nan: said.append([names(number), parameter, step, nan]),
       "failed": lambda text: said.append(text), "unseen_begins": lambda: None, "unseen_ends": lambda: None}
exec(SOURCE, own)
own["tensorscope_is_on_device"] = lambda tensor: True
class Net(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.first, self.inner, self.last = nn.Linear(4, 4), inner, nn.Linear(4, 2)
    def forward(self, x):
        return self.last(self.inner(self.first(x)))
torch.manual_seed(0)
""".replace("SOURCE", repr(SOURCE))
TRAIN = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.ones(3, 4) * (step + 1)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps(said))
"""


def said(source, folder):
    done = harness.run_source(BEGIN + source, folder=folder, preload=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_first_module_is_named_once_a_step(tmp_path):
    source = """
class Late(nn.Module):
    def forward(self, x):
        return {"values": [x / (optimizer.steps < 1) if optimizer.steps else x]}["values"][0]
model = Net(Late())
""" + TRAIN.replace("for step", "optimizer.steps = 0\nfor step").replace("    optimizer.step()\n", "    optimizer.step()\n    optimizer.steps += 1\n")
    # 4 results and 4 gradients a step; after the finding nothing is checked any more
    assert said(source, tmp_path) == [8, ["inner", "", 1, False], 8]


CLOSURE = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def closure():
    optimizer.zero_grad()
    loss = model(torch.ones(3, 4)).sum()
    loss.backward()
    return loss
for step in range(3):
    optimizer.step(closure)
print(json.dumps(said))
"""


@pytest.mark.parametrize("train", [TRAIN, CLOSURE], ids=["plain", "closure"])
def test_a_gradient_is_named_by_its_parameter(tmp_path, train):
    source = """
class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, gradient):
        return gradient * float("nan")
class Custom(nn.Module):
    def forward(self, x):
        return Backward.apply(x)
model = Net(Custom())
""" + train
    assert said(source, tmp_path) == [["first", "weight", 0, True], 8]


def test_a_step_that_a_loss_scaler_skips_is_no_finding(tmp_path):
    source = """
model = Net(nn.Identity())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**100)
for step in range(2):
    scaler.scale(model(torch.ones(3, 4)).sum() * 1e15).backward()
    scaler.step(optimizer)
    scaler.update(1.0)
    optimizer.zero_grad()
own["tensorscope_safely"](own["tensorscope_read"])
print(json.dumps(said))
"""
    assert said(source, tmp_path) == [12, 0]  # 4 + 4 results and the gradients of the second step


def test_what_is_finite_or_cannot_be_checked_is_no_finding(tmp_path):
    source = """
class Everything(nn.Module):
    def forward(self, x):
        mask = torch.full((3,), torch.finfo(torch.float32).min)
        return [x.half(), x.bfloat16(), x.double() * 1e300, torch.complex(x, x), x.long(), x[:0], mask, (x.t(), {"k": x}),
                x.to_sparse(), torch.complex(x, x).conj(), x.to(torch.float8_e5m2), x.half() * 65504, None, "text"]
model = Everything()
version = model(torch.ones(2, 2))[0]._version
with torch.inference_mode():
    model(torch.ones(2, 2))
torch.vmap(nn.Identity())(torch.ones(2, 2))
x = torch.ones(2, 2, requires_grad=True)
y = nn.Identity()(x)
assert version == 0 and y.grad_fn is None and torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
for _ in range(2000):  # more than there is room for at once
    model(x)
own["tensorscope_safely"](own["tensorscope_read"])
print(json.dumps([sum(said), [each for each in said if not isinstance(each, int)]]))
"""
    assert said(source, tmp_path) == [2002 * 8 + 1, []]


def test_a_failure_costs_the_checks_not_the_program(tmp_path):
    source = """
model = Net(nn.Identity())
def broken(*arguments, **keywords):
    raise RuntimeError("no")
torch.linalg.vector_norm = broken
""" + TRAIN
    assert said(source, tmp_path) == ["no"]


CUDA = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    loss = model(torch.randn(4, 8, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("end", torch.rand(1).item(), loss.shape)
"""


@harness.needs_fake_cuda
def test_a_finding_on_a_device_is_said(tmp_path, monkeypatch):
    """The double runs no kernels: each number stays the NaN that stands there before."""
    harness.use_fake_cuda(monkeypatch)
    without = harness.run_source(CUDA, folder=tmp_path, preload=False)
    done = harness.run_source(CUDA, folder=tmp_path, exit="never", find_nan=1)
    assert done.returncode == 0 and done.stdout == without.stdout
    lines = [line.removeprefix("tensorscope: ") for line in done.stderr.splitlines()]
    assert lines[:3] == ["first NaN: result of a module on a device, step 0, forward pass", "  module: model.0 (Linear)",
                         "  cause: made in this module; on devices only what modules return is checked, and gradients"]
    assert lines[3].startswith("--find-nan: found, see above; ") and lines[3].endswith(" on devices checked")
    done = harness.run_source(CUDA, folder=tmp_path, exit="never", find_nan="stop")
    assert done.returncode == 99 and "end" not in done.stdout
