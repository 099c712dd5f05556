# SPDX-License-Identifier: Apache-2.0
"""Level `op` of watches: results of operations within modules are what the program has, bit for bit."""

# Covers: preload/torch_events/torch_layout_probe.cc preload/watch/{operation_values,watched_scopes}.cc
# Covers: preload/values_file/source_places.cc

import harness
import pytest
import torch
import values_reader
from values_reader import UNCHANGED

pytest.importorskip("flatbuffers")

PROGRAM = "watch_operations.py"
NOTING = {"aten::detach", "aten::clone"}  # what the program does to note the truth
INNER = {f"model.inner/aten::{name}" for name in
         "mul add_ transpose softmax chunk[0] chunk[1] max[0] max[1] exp sub detach clone".split()} | {"model.inner.project/aten::linear"}
SLOPE = {f"model.slope/aten::{name}" for name in "detach mul ones add".split()}
BACKWARD = 10
OUTER = SLOPE | {"model.left/aten::tanh", "model/aten::add", "model/aten::detach", "model/aten::clone"}


def watch(folder, what, **options):
    done = harness.run(PROGRAM, folder=folder, exit="never", watch=what, **options)
    assert done.returncode == 0, done.stderr
    return done, values_reader.read(folder)


def forward(values):
    return [value for value in values.values if value.place != BACKWARD]


def backward(values):
    return [value for value in values.values if value.place == BACKWARD]


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operations")
    return *watch(folder, "full:op:model"), torch.load(folder / "truth.pt")


def test_the_program_is_as_without(watched, tmp_path):
    assert watched[0].stdout == harness.run(PROGRAM, folder=tmp_path, preload=False).stdout


def test_every_result_is_the_programs(watched):
    _, values, truth = watched
    expected, step, indexes = [], -1, {}
    for entry in truth:
        if entry is None:
            step, indexes = step + 1, {}
            continue
        name, tensor = entry
        indexes[name] = indexes.get(name, -1) + 1
        expected.append((name, step, indexes[name], tensor))
    taken = {(value.name, value.step, value.index): value for value in forward(values)}
    for name, step, index, tensor in expected:
        value = taken.pop((name, step, index))
        assert value.shape == tuple(tensor.shape) and torch.equal(values.tensor(value), tensor), (name, step)
        assert name.partition("/")[2].partition("[")[0] == value.operation
    tanh = [key for key in taken if key[0] == "model.left/aten::tanh"]
    slope = [key for key in taken if key[0].startswith("model.slope/")]
    assert len(expected) == 3 * 14 and len(tanh) == 3
    rest = [value for key, value in taken.items() if key not in tanh + slope]
    assert {value.operation for value in rest} == NOTING  # nothing of the loss
    assert not values.losses and not values.unmatched and values.ended


def test_a_backward_pass_within_a_call_is_told_apart(watched):
    harness.needs_torch(2, 0, "word of the node that runs")
    _, values, _ = watched
    assert {value.name for value in forward(values) if value.module == "model.slope"} == SLOPE
    assert len(values.named("model.slope/aten::mul")) == 4  # one a call
    assert len(values.named("model.slope/MulBackward0/aten::mul")) == 2 * 3  # the last pass raises before them


def test_backward(watched):
    harness.needs_torch(2, 0, "word of the node that runs")
    _, values, _ = watched
    lines = (harness.PROGRAMS / PROGRAM).read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if "x.tanh()" in text]
    calls = {value.step: value.call for value in values.named("model.left/aten::tanh")}
    tanh = values.named("model.left/TanhBackward0/aten::tanh_backward")
    assert [(value.step, value.index, value.operation, value.module) for value in tanh] == [
        (step, 0, "aten::tanh_backward", "model.left") for step in range(3)]
    for value in tanh:
        assert value.place == BACKWARD and value.call == calls[value.step] and value.site.endswith(f"{PROGRAM}:{line} {harness.qualified('Left.forward')}")
    assert {value.module for value in backward(values)} == {"model.left", "model.inner", "model.inner.project", "model.slope"}


def test_module_place_and_line(watched):
    _, values, _ = watched
    lines = (harness.PROGRAMS / PROGRAM).read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if "x.tanh()" in text]
    for value in values.named("model.left/aten::tanh"):
        assert (value.module, value.place) == ("model.left", 1) and value.call != 0
        assert value.site.endswith(f"{PROGRAM}:{line} {harness.qualified('Left.forward')}")
    assert not any(value.flags & UNCHANGED for value in values.named("model/aten::add"))


@pytest.mark.parametrize("what, names", [("op:model.inner", INNER), ("op:model.*.project", {"model.inner.project/aten::linear"}),
                                         ("op:model,op:model.inner", INNER | OUTER)])
def test_which_modules(what, names, tmp_path):
    _, values = watch(tmp_path, what)
    assert {value.name for value in forward(values)} == names
    assert {value.module for value in backward(values)} <= {value.module for value in forward(values)}
    assert len([value for value in values.named("model.inner.project/aten::linear")]) == 3 * (1 + what.count(","))
    assert all(value.statistics and value.data is None for value in values.values)


def test_watch_file(tmp_path):
    file = tmp_path / "watch.toml"
    file.write_text('[[watch]]\npath = "model"\nof = "op"\nexclude = ["model.inner"]\nevery = 2\n'
                    '[[watch]]\npath = "model"\nof = "op"\ndtype = "int64"\nsteps = 1\n')
    _, values = watch(tmp_path, file)
    integers = {(value.name, value.step) for value in forward(values) if value.dtype == 4}
    assert integers == {("model.inner/aten::max[1]", 1), ("model.inner/aten::detach", 1), ("model.inner/aten::clone", 1)}
    others = [value for value in forward(values) if value.dtype != 4]
    assert {value.module for value in backward(values)} == {"model.left", "model.slope"}
    assert {value.name for value in others} == OUTER and {value.step for value in others} == {0, 2}
    assert "model: results of every operation in calls of modules and in their backward, every 2 steps" in harness.cli("watch", file).stdout


def test_together_with_find_nan(tmp_path):
    done, values = watch(tmp_path, "op:model", find_nan=1)
    assert len(values.named("model.inner/aten::sub")) == 9
    assert "--find-nan: no NaN or infinity made by " in done.stderr


def test_another_path_is_unmatched(tmp_path):
    done, values = watch(tmp_path, "op:model.iner")
    assert not values.values and values.unmatched["model.iner"][0] == "model.inner"


def test_what_a_checkpoint_computes_again_is_taken(tmp_path):
    harness.needs_torch(2, 0, "word of the node that runs")
    source = """
import torch
from torch.utils.checkpoint import checkpoint
class Inner(torch.nn.Module):
    def forward(self, x):
        return x.exp().sin()
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False).cos()
model = Model()
x = torch.full((4,), 0.5, requires_grad=True)
model(x).sum().backward()
"""
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="full:op:model.inner")
    assert done.returncode == 0, done.stderr
    values = values_reader.read(tmp_path)
    assert {value.name for value in forward(values)} == {"model.inner/aten::exp", "model.inner/aten::sin"}
    exp = torch.full((4,), 0.5).exp()
    found = [(value.name.partition("::")[2], value.index) for value in forward(values)]
    assert found == [("exp", 0), ("sin", 0), ("exp", 1)]  # the checkpoint ends as sin() has its argument
    assert [torch.equal(values.tensor(value), exp) for value in values.named("model.inner/aten::exp")] == [True, True]
    assert torch.equal(values.tensor(values.named("model.inner/aten::sin")[0]), exp.sin())
    again, = {value.call for value in values.named("model.inner/aten::exp")[1:]}
    assert {value.name for value in backward(values)} == {"model.inner/SinBackward0/aten::cos", "model.inner/SinBackward0/aten::mul",
                                                          "model.inner/ExpBackward0/aten::mul"}
    assert all(value.call != again for value in backward(values))  # of the forward whose graph runs


GRADIENTS = """
import torch
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient.mul(2)
class Model(torch.nn.Module):
    def forward(self, x):
        a = x.exp()
        b = Twice.apply(a).sin()
        if not b.requires_grad:
            return b
        b.register_hook(lambda gradient: gradients.append(gradient.clone()))
        a.register_hook(lambda gradient: gradients.append(gradient.clone()))
        return b
gradients = []
model = Model()
x = torch.tensor([[0.5, 0.25], [-0.5, 2.0]], requires_grad=True)
START
    model(x).square().mean().backward()
    gradients.append(x.grad)
"""


@pytest.mark.parametrize("start", ["if True:", "with torch.inference_mode():\n    model(x)\nif True:"])
def test_what_backward_passes_compute(start, tmp_path):
    """From the program's first operation on; values are the gradients that the program sees."""
    harness.needs_torch(2, 0, "word of the node that runs")
    source = GRADIENTS.replace("START", start) + f"torch.save(gradients, {str(tmp_path / 'truth')!r})\n"
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="full:op:model")
    assert done.returncode == 0, done.stderr
    values = values_reader.read(tmp_path)
    b, a, x = torch.load(tmp_path / "truth")
    called = [value.name for value in values.values if value.operation != "aten::clone"]  # of the hooks
    forward_names = ["model/aten::exp", "model/aten::mul", "model/aten::sin"]
    assert called == forward_names * (1 + ("inference" in start)) + [
        "model/SinBackward0/aten::cos", "model/SinBackward0/aten::mul", "model/TwiceBackward/aten::mul", "model/ExpBackward0/aten::mul"]
    (cosine,), (twice,), (exp,) = (values.named(f"model/{name}") for name in ("SinBackward0/aten::cos", "TwiceBackward/aten::mul", "ExpBackward0/aten::mul"))
    (sine,) = values.named("model/SinBackward0/aten::mul")
    assert torch.equal(values.tensor(sine), b * values.tensor(cosine))
    assert torch.equal(values.tensor(twice), a) and torch.equal(values.tensor(exp), x)
    assert not values.losses


def test_backward_in_another_thread(tmp_path):
    """Each thread counts its nodes for itself."""
    harness.needs_torch(2, 0, "word of the node that runs")
    source = """
import threading, torch
class Model(torch.nn.Module):
    def __init__(self, work):
        super().__init__()
        self.work = work
    def forward(self, x):
        return self.work(x)
models = torch.nn.ModuleList([Model(torch.exp), Model(torch.sin)])
results = {}
def forward(number):
    results[number] = models[number](torch.ones(3, requires_grad=True))
for number in range(2):
    thread = threading.Thread(target=forward, args=(number,))
    thread.start()
    thread.join()
thread = threading.Thread(target=lambda: [results[number].sum().backward() for number in range(2)])
thread.start()
thread.join()
"""
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="op:models.*")
    assert done.returncode == 0, done.stderr
    values = values_reader.read(tmp_path)
    assert {value.name for value in values.values} == {
        "models.0/aten::exp", "models.1/aten::sin", "models.0/ExpBackward0/aten::mul", "models.1/SinBackward0/aten::cos",
        "models.1/SinBackward0/aten::mul"} and not values.losses
