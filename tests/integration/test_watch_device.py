# SPDX-License-Identifier: Apache-2.0
"""Values of tensors on devices: torch's operations and copies that nothing waits for, on the CPU's tensors in the place of a device's, and on the
double of the CUDA libraries, which computes nothing but shows what was called."""

# Covers: preload/watch/device_values.cc

import harness
import pytest
import torch
import values_reader
from values_reader import ELEMENTS, NOT_READ, SLICED, STATISTICS, UNCHANGED

pytest.importorskip("flatbuffers")

TENSORS = """
import torch
torch.manual_seed(3)
nan, inf = float("nan"), float("inf")
tensors = [torch.randn(1000), torch.randn(3, 5, 7).transpose(0, 2), torch.randn(700, 900) * 3 + 1000, torch.randn(600, 700).t(), torch.tensor(3.5),
           torch.tensor([nan, inf, -inf, 1, 0, -2]), torch.tensor([nan, inf]), torch.randn(10, dtype=torch.complex64), torch.arange(10) - 3,
           torch.tensor([True, False]), torch.randn(20).half(), torch.randn(20).bfloat16(), torch.randn(20).to(torch.float8_e5m2),
           torch.randn(5).expand(100000, 5), torch.empty(0, 3), torch.randn(6, 5)[::2, 1:], torch.randn(8).double() * 1e100]
"""
SAVE = TENSORS + """
model = torch.nn.Identity()
for tensor in tensors:
    model(tensor)
print(torch.rand(1).item(), [tensor._version for tensor in tensors])
"""
STATISTIC_NAMES = "count nan positive_infinity negative_infinity zeros minimum maximum mean deviation sum l1 l2".split()


def run(folder, source, watch, **options):
    folder.mkdir(exist_ok=True)
    done = harness.run_source(source, folder=folder, exit="never", watch=watch, **options)
    assert done.returncode == 0, done.stderr
    return done, values_reader.read(folder)


def lost(values):
    totals = {}
    for (what, _), count in values.losses.items():
        totals[what] = totals.get(what, 0) + count
    return totals


def tensors():
    own = {}
    exec(TENSORS, own)
    return own["tensors"]


def test_statistics_are_those_of_the_cpus_own_way(tmp_path):
    here, plain = run(tmp_path / "plain", SAVE, "model")
    there, device = run(tmp_path / "device", SAVE, "model", watch_as_device=1)
    assert here.stdout == there.stdout
    assert not device.losses and len(device.values) == len(plain.values) == len(tensors())
    for one, other, tensor in zip(plain.values, device.values, tensors()):
        assert other.flags & STATISTICS and one.shape == other.shape == tuple(tensor.shape)
        for name in ("step", "pass", "index", "site", "dtype", "call"):
            assert getattr(one, name) == getattr(other, name)
        for name in STATISTIC_NAMES:
            expected = getattr(one.statistics, name)
            assert getattr(other.statistics, name) == pytest.approx(expected, rel=1e-9, abs=1e-9), (name, tensor)
    x = tensors()[2].double()
    found = device.values[2].statistics
    assert (found.mean, found.deviation, found.l2) == pytest.approx((x.mean().item(), x.std().item(), x.norm().item()), rel=1e-9)


def test_elements_slices_and_dtypes(tmp_path):
    watch = tmp_path / "watch.toml"
    watch.write_text('[[watch]]\npath = "model"\nkeep = ["statistics", "full"]\n[[watch]]\npath = "half"\nkeep = "full"\nstore = "float16"\n'
                     '[[watch]]\npath = "part"\nslice = "::2, 1"\n')
    source = SAVE + "half, part = torch.nn.Identity(), torch.nn.Identity()\nhalf(tensors[1])\npart(tensors[3])\n"
    _, values = run(tmp_path / "device", source, watch, watch_as_device=1)
    for value, tensor in zip(values.named("model"), tensors()):
        if tensor.dtype == torch.float8_e5m2:
            continue
        assert value.flags & ELEMENTS and torch.equal(values.tensor(value).nan_to_num(7), tensor.nan_to_num(7))
    (half,) = values.named("half")
    assert torch.equal(values.tensor(half), tensors()[1].half()) and not half.flags & STATISTICS
    (part,) = values.named("part")
    assert part.flags & SLICED and torch.equal(values.tensor(part), tensors()[3][::2, 1]) and part.statistics.count == 420000


SERIES = """
tensors += [torch.randn(0, 4), torch.randn(4, 0), torch.randn(70000, 1), torch.randn(3, 300000), torch.full((4, 4), 2.5), torch.tensor([0.0, -0.0]),
            torch.randint(0, 9, (50, 7)), torch.randn(300, 5)[:, ::2], torch.tensor([2 ** 62 + 1, 2 ** 62 + 3]), torch.randn(9).to(torch.float8_e4m3fn),
            torch.randn(3, 1 << 18).bfloat16()]
model = torch.nn.Identity()
for tensor in tensors:
    model(tensor)
"""
KEEPS = {"each": '[[watch]]\npath = "model"\nkeep = ["hash", "norms", "quantiles", "histogram"]\n',
         "alone": "".join(f'[[watch]]\npath = "model"\nkeep = "{kind}"\n' for kind in ("hash", "norms", "quantiles", "histogram")),
         "with elements": '[[watch]]\npath = "model"\nkeep = ["hash", "full", "norms"]\n',
         "with a slice": '[[watch]]\npath = "model"\nkeep = ["hash", "quantiles"]\nslice = "::2"\n[[watch]]\npath = "model"\nkeep = ["hash", "full"]\nstore = "float16"\n'}


@pytest.mark.cases(2)
@pytest.mark.parametrize("keep", KEEPS)
def test_hash_norms_quantiles_and_histogram_are_those_of_the_cpus_own_way(keep, tmp_path):
    watch = tmp_path / "watch.toml"
    watch.write_text(KEEPS[keep])
    _, plain = run(tmp_path / "plain", TENSORS + SERIES, watch)
    _, device = run(tmp_path / "device", TENSORS + SERIES, watch, watch_as_device=1)
    assert device.losses == plain.losses and len(device.values) == len(plain.values)
    key = lambda value: (getattr(value, "pass"), value.watch, value.serial)
    for one, other in zip(sorted(plain.values, key=key), sorted(device.values, key=key)):
        assert bool(one.statistics) == bool(other.statistics) and one.shape == other.shape
        if one.statistics:
            assert one.statistics.hash == other.statistics.hash
        assert one.series.keys() == other.series.keys()
        for what, numbers in one.series.items():
            close = what == "norms" or one.dtype == 9  # sums, and magnitudes of complex numbers
            assert other.series[what] == (pytest.approx(numbers, rel=1e-12) if close else numbers), (what, one.shape)
    if keep in ("each", "alone"):
        assert {what.split()[0] for value in device.values for what in value.series} == {"norms", "quantiles", "histogram"}
        assert lost(device) == {"norms": 2}  # of more than 65536 items
        assert sum(value.statistics.hash != 0 for value in device.values if value.statistics) >= len(tensors())


def test_results_of_operations(tmp_path):
    source = """
import threading, torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(x).softmax(-1).chunk(2)[0].sin().mul_(2)
torch.manual_seed(0)
model = Model()
def train():
    for _ in range(3):
        model(torch.randn(5, 4)).square().sum().backward()
train()
thread = threading.Thread(target=train)
thread.start()
thread.join()
print(model.linear.weight.grad.sum().item(), torch.rand(1).item())
"""
    plain_run, plain = run(tmp_path / "plain", source, "full:hash:op:model")
    device_run, device = run(tmp_path / "device", source, "full:hash:op:model", watch_as_device=1)
    assert plain_run.stdout == device_run.stdout and not device.losses
    key = lambda value: (getattr(value, "pass"), value.name, value.index)
    ours, theirs = sorted(device.values, key=key), sorted(plain.values, key=key)
    assert [(key(value), value.place, value.site, value.call) for value in ours] == [(key(value), value.place, value.site, value.call) for value in theirs]
    assert len(ours) > 6 * 8 and any(value.place == 10 for value in ours)
    for one, other in zip(theirs, ours):
        assert one.statistics.hash == other.statistics.hash and torch.equal(plain.tensor(one), device.tensor(other))


TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))DEVICE
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    x = torch.randn(4, 8, device=model[0].weight.device)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("end", loss.item() if loss.device.type == "cpu" else 0, torch.rand(1).item(), [p._version for p in model.parameters()], torch.is_grad_enabled())
"""
WATCH = "model.**,parameters:full:model.**,gradients:full:model.**,optimizer_state:full:model.2,norms:model.2"


def test_a_training_program_is_as_without(tmp_path):
    source = TRAIN.replace("DEVICE", "")
    plain_run, plain = run(tmp_path / "plain", source, WATCH)
    device_run, device = run(tmp_path / "device", source, WATCH, watch_as_device=1)
    assert plain_run.stdout == device_run.stdout
    key = lambda value: (value.name, value.watch, value.step, value.index)
    ours, theirs = sorted(device.values, key=key), sorted(plain.values, key=key)
    assert list(map(key, ours)) == list(map(key, theirs)) and len(ours) > 40
    for one, other in zip(theirs, ours):
        assert one.statistics.sum == pytest.approx(other.statistics.sum, rel=1e-9, abs=1e-12)
        if one.flags & other.flags & ELEMENTS:
            assert torch.equal(plain.tensor(one), device.tensor(other))
    assert not device.losses


def test_what_nobody_changed_is_kept_once(tmp_path):
    watch = tmp_path / "watch.toml"
    watch.write_text('flush = "1ms"\n[[watch]]\npath = "model.weight"\nkeep = "full"\n')
    source = "import time, torch\nmodel = torch.nn.Linear(2, 2)\nfor _ in range(4):\n    model(torch.ones(2))\n    time.sleep(0.02)\n"
    source += "with torch.no_grad():\n    model.weight.add_(1)\nmodel(torch.ones(2))\n"
    _, values = run(tmp_path / "device", source, watch, watch_as_device=1)
    kinds = [bool(value.flags & UNCHANGED) for value in values.named("model.weight")]
    assert kinds.count(False) < 5 and sorted(values.tensor(value).sum().item() for value in values.named("model.weight") if value.flags & ELEMENTS)


# 12 MiB a value, buffers of 32 MiB: what has no room in two of them is left out or waited for.
LARGE = """
import torch
model = torch.nn.Identity()
for i in range(12):
    model(torch.full((3 << 20,), float(i)))
model(torch.full((9 << 20,), 5.0))
"""


@pytest.mark.parametrize("when_full", ["drop", "wait"])
def test_more_than_there_is_room_for(tmp_path, when_full):
    watch = tmp_path / "watch.toml"
    watch.write_text(f'when_full = "{when_full}"\n[[watch]]\npath = "model"\nkeep = ["statistics", "full"]\n')
    _, values = run(tmp_path / "device", LARGE, watch, watch_as_device=1)
    all_values = sorted(values.named("model"), key=lambda value: getattr(value, "pass"))
    assert [value.statistics.maximum for value in all_values] == [*range(12), 5]
    for value in all_values:
        if value.flags & ELEMENTS:
            assert torch.equal(values.tensor(value), torch.full(value.shape, value.statistics.maximum))
    kept = sum(bool(value.flags & ELEMENTS) for value in all_values)
    if when_full == "wait":
        assert kept == 13 and not values.losses
    else:
        assert kept == 12 and lost(values) == {"elements": 1}  # the last is larger than a buffer


def test_where_nothing_may_be_done_it_is_said(tmp_path):
    source = """
import torch
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
    calls = []
    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.calls.append(str(function))
        return function(*arguments, **(keywords or {}))
model = torch.nn.Identity()
x = torch.ones(3)
with Mode():
    model(x)
model(x)
with torch.inference_mode():
    model(torch.ones(3))
with torch.overrides.BaseTorchFunctionMode():
    model(x)
assert Mode.calls == [], Mode.calls
"""
    _, values = run(tmp_path / "device", source, "model", watch_as_device=1)
    assert sorted(bool(value.flags & NOT_READ) for value in values.values) == [False, False, False, True]
    assert lost(values) == {"values": 1}


def test_a_failure_costs_the_values_not_the_program(tmp_path):
    source = "import torch\ndef broken(*arguments, **keywords):\n    raise RuntimeError('no')\nsum, torch.sum = torch.sum, broken\n" + SAVE
    done, values = run(tmp_path / "device", source, "model", watch_as_device=1)
    assert done.stderr.count("values on devices are no longer taken: RuntimeError: no") == 1
    assert lost(values) == {"values": len(tensors())}


def test_threads_and_forks(tmp_path):
    source = """
import os, threading, torch
model = torch.nn.Identity()
model(torch.ones(2))
def work(number):
    for i in range(50):
        model(torch.full((2000,), float(number)))
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
if os.fork() == 0:
    model(torch.ones(7))
    raise SystemExit(0)
os.wait()
"""
    folder = tmp_path / "device"
    folder.mkdir()
    done = harness.run_source(source, folder=folder, exit="never", watch="model", watch_as_device=1)
    assert done.returncode == 0, done.stderr
    files = sorted((values_reader.Values(path) for path in folder.glob("*.values")), key=lambda values: len(values.values))
    assert [len(values.values) for values in files] == [1, 201] and files[0].values[0].shape == (7,)
    sums = sorted(value.statistics.sum for value in files[1].values)
    assert sums == sorted([2.0] + [2000.0 * number for number in range(4) for _ in range(50)])


@harness.needs_fake_cuda
def test_nothing_waits_for_the_device(tmp_path, monkeypatch):
    """What of CUDA is called by a program's steps, with and without: no wait, and copies to the host only as often as a flush."""
    harness.use_fake_cuda(monkeypatch)
    source = """
import torch
calls = []
for owner, name in ((torch.cuda.Event, "synchronize"), (torch.cuda.Stream, "synchronize"), (torch.cuda, "synchronize"), (torch.Tensor, "item"), (torch.Tensor, "cpu")):
    def noted(*arguments, name=name, own=getattr(owner, name), **keywords):
        if not (arguments and isinstance(arguments[0], torch.Tensor) and arguments[0].device.type == "cpu"):
            calls.append(name)
        return own(*arguments, **keywords)
    setattr(owner, name, noted)
copy = torch.Tensor.copy_
def counted(self, other, non_blocking=False):
    if self.device.type == "cpu":
        calls.append((self.is_pinned(), non_blocking))
    return copy(self, other, non_blocking)
torch.Tensor.copy_ = counted
""" + TRAIN.replace("DEVICE", ".cuda()") + "print(calls)\n"
    done, values = run(tmp_path / "device", source, "model.**,full:model.2,gradients:model.**")
    assert done.stdout.splitlines()[-1] == "[]"  # a flush takes a second
    assert len(values.values) == 3 * (4 + 1 + 4) and all(value.flags & STATISTICS and value.device_type == 1 for value in values.values)
    watch = tmp_path / "watch.toml"
    watch.write_text('flush = "1ms"\n[[watch]]\npath = "model.**"\n')
    done, values = run(tmp_path / "often", source.replace("step in range(3):", "step in range(3):\n    __import__('time').sleep(0.01)"), watch)
    assert set(eval(done.stdout.splitlines()[-1])) == {(True, True)}
    assert len(values.values) == 12


@harness.needs_fake_cuda
def test_while_a_graph_is_captured_nothing_is_done(tmp_path, monkeypatch):
    harness.use_fake_cuda(monkeypatch)
    source = """
import torch
model = torch.nn.Identity()
x = torch.ones(4, device="cuda")
model(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    model(x)
graph.replay()
model(x)
"""
    _, values = run(tmp_path / "device", source, "model")
    assert sorted(bool(value.flags & NOT_READ) for value in values.values) == [False, False, True]
    assert lost(values) == {"values": 1}
