# SPDX-License-Identifier: Apache-2.0
"""What is watched is what the program itself has, bit for bit, and the program is as without."""

# Covers: preload/watch/{watch,watched_calls,module_values,module_paths}.cc preload/torch_events/module_calls.cc
# Covers: preload/tensor_values/tensor_view.cc preload/values_file/{value_store,value_batch,value_writer}.cc
# Covers: preload/torch_events/steps.cc preload/dump/appended_file.cc preload/python/tensors_inside.cc
# Covers: analyzer/cli/watch.cc

import resource
import signal
import subprocess
import time

import harness
import pytest
import torch
import values_reader
from values_reader import BACKWARD, ELEMENTS, NOT_READ, RAISED, UNCHANGED

pytest.importorskip("flatbuffers")

EVERYTHING = ("full:model,full:model.head.weight.grad,full:optimizer_state:model.head,full:model.layers.*.attn.project.weight,"
              "full:model.layers.*.attn,full:inputs:model.layers.1.attn,model.layers.*.attn.calls,model.layers.*.norm")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    done = harness.run("watch_model.py", folder=folder, exit="never", watch=EVERYTHING, calls=1)
    assert done.returncode == 0, done.stderr
    return done, values_reader.read(folder), torch.load(folder / "truth.pt")


def test_the_program_is_as_without(watched, tmp_path):
    without = harness.run("watch_model.py", folder=tmp_path, preload=False)
    assert watched[0].stdout == without.stdout


def test_every_element_is_the_programs(watched):
    _, values, truth = watched
    modes = {"train": 1, "eval": 2}
    seen = {}
    for name, step, mode, tensor in truth:
        if mode == "eval" and name != "model":
            continue
        of_step = [value for value in values.named(name) if value.step == step and value.mode == modes[mode]]
        if name.startswith("model.layers"):  # taken at the beginning of each pass
            of_step = of_step[:1]
        (value,) = of_step
        assert value.shape == tuple(tensor.shape) and torch.equal(values.tensor(value), tensor), (name, step)
        seen[name] = seen.get(name, 0) + 1
    assert seen["model"] == 6 and seen["model.head.weight.grad"] == 4 and seen["model.head.weight.exp_avg"] == 4
    assert values.ended and not values.losses and not values.unmatched


def test_statistics_are_those_of_torch(watched):
    _, values, _ = watched
    assert all(value.statistics for value in values.values)
    for value in values.values:
        if not value.flags & ELEMENTS:
            continue
        x, found = values.tensor(value).double(), value.statistics
        assert found.count == x.numel() and found.nan == 0
        for mine, theirs in ((found.mean, x.mean()), (found.minimum, x.min()), (found.maximum, x.max()), (found.l2, x.norm()),
                             (found.deviation, x.std() if x.numel() > 1 else torch.zeros(()))):
            assert mine == pytest.approx(theirs.item(), rel=1e-9, abs=1e-12)


def test_names_ways_and_indexes(watched):
    _, values, _ = watched
    names = {value.name for value in values.values}
    assert {"model.layers.0.attn.left", "model.layers.2.attn.right['weights']"} <= names
    assert {"model.layers.1.attn(in)[0]", "model.layers.1.attn(in)['scale']"} <= names
    first = [value for value in values.named("model.layers.0.norm") if value.mode == 1 and value.step == 0]
    assert [value.index for value in first] == [0, 1]  # the block is called twice in a pass
    assert first[0].site.startswith("watch_model.py:") or "watch_model.py:" in first[0].site
    assert [value.statistics.sum for value in values.named("model.layers.0.attn.calls")] == [0, 2, 4, 6, 8, 10]


def test_a_weight_that_nobody_changed_is_kept_once(tmp_path):
    source = "import torch\nmodel = torch.nn.Linear(2, 2)\nfor _ in range(5):\n    model(torch.ones(2))\n"
    source += "with torch.no_grad():\n    model.weight.add_(1)\nmodel(torch.ones(2))\n"
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="full:model.weight")
    assert done.returncode == 0
    kinds = [bool(value.flags & UNCHANGED) for value in values_reader.read(tmp_path).named("model.weight")]
    assert kinds == [False, True, True, True, True, False]


def test_elements_of_any_number_in_pieces_of_any_size(tmp_path):
    source = """
import torch
model = torch.nn.Identity()
sizes = [1, 5, 7, 4, (4 << 20) + 1, (3 << 20) + 3, 2, (9 << 20) + 6, 8]
for size in sizes:
    model((torch.arange(size) % 251).to(torch.uint8))
"""
    assert harness.run_source(source, folder=tmp_path, exit="never", watch="full:model").returncode == 0
    values = values_reader.read(tmp_path)
    sizes = [1, 5, 7, 4, (4 << 20) + 1, (3 << 20) + 3, 2, (9 << 20) + 6, 8]
    assert [value.shape[0] for value in values.named("model")] == sizes
    for value, size in zip(values.named("model"), sizes):
        assert torch.equal(values.tensor(value), (torch.arange(size) % 251).to(torch.uint8))


def test_a_tensor_that_several_modules_return_is_as_each_returned_it(tmp_path):
    source = """
import torch
class Layer(torch.nn.Module):
    def __init__(self, change, inner=None):
        super().__init__()
        self.change, self.inner = change, inner
    def forward(self, x):
        x = self.inner(x) if self.inner else x
        self.change(x)
        return x
same = Layer(lambda x: None, Layer(lambda x: None))
model = Layer(lambda x: x.as_strided_((1024,), (0,)), Layer(lambda x: x.data.add_(1), Layer(lambda x: x.add_(1), same)))
for _ in range(2):
    model(torch.arange(1024.0).clone())
"""
    for prefix, through_data in (("", 0), ("hash:", 1024)):  # a write through .data is seen where a hash was asked for
        folder = tmp_path / (prefix.rstrip(":") or "plain")
        folder.mkdir()
        assert harness.run_source(source, folder=folder, exit="never", watch=prefix + "model.**").returncode == 0
        sums = [value.statistics.sum for value in values_reader.read(folder).values]
        assert sums == 2 * [523776.0, 523776.0, 524800.0, 524800.0 + through_data, 2048.0]


def test_a_parameter_beside_modules_that_are_named(tmp_path):
    source = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""
    assert harness.run_source(source, folder=tmp_path, exit="never", watch="model.0,model.0.weight,model.1,model.1.bias.grad").returncode == 0
    values = values_reader.read(tmp_path)
    assert {name: len(values.named(name)) for name in ("model.0", "model.0.weight", "model.1", "model.1.bias.grad")} == {
        "model.0": 2, "model.0.weight": 2, "model.1": 2, "model.1.bias.grad": 2}
    assert not values.unmatched


DTYPES = ["float16", "bfloat16", "float64", "int64", "bool", "complex64", "uint8"]


@pytest.fixture(scope="module")
def of_each_dtype(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dtypes")
    source = ("import torch\nclass Cast(torch.nn.Module):\n    def __init__(self, dtype):\n        super().__init__()\n        self.dtype = dtype\n"
              "    def forward(self, x):\n        return x.to(self.dtype)\n"
              f"model = torch.nn.ModuleDict({{'to_' + name: Cast(getattr(torch, name)) for name in {DTYPES}}})\n"
              "for cast in model.values():\n    cast(torch.tensor([[0.0, 1.0], [3.0, 2.0]]).t())\n")
    assert harness.run_source(source, folder=folder, exit="never", watch="full:model.*").returncode == 0
    return values_reader.read(folder)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(of_each_dtype, dtype):
    (value,) = of_each_dtype.named(f"model.to_{dtype}")
    expected = torch.tensor([[0.0, 3.0], [1.0, 2.0]]).to(getattr(torch, dtype))
    assert of_each_dtype.tensor(value).dtype == expected.dtype and torch.equal(of_each_dtype.tensor(value), expected)
    assert value.statistics.sum == pytest.approx(expected.to(torch.complex128).abs().sum().item())


def test_what_cannot_be_read_is_said(tmp_path):
    source = """
import torch
class Sparse(torch.nn.Module):
    def forward(self, x):
        return x.to_sparse()
class Meta(torch.nn.Module):
    def forward(self, x):
        return x.to("meta")
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sparse, self.meta, self.plain = Sparse(), Meta(), torch.nn.Identity()
    def forward(self, x):
        self.sparse(x), self.meta(x)
        return torch.vmap(self.plain)(x)
model = Model()
model(torch.ones(2, 2))
"""
    assert harness.run_source(source, folder=tmp_path, exit="never", watch="full:model.**").returncode == 0
    values = values_reader.read(tmp_path)
    for name in ("model.sparse", "model.meta", "model.plain"):
        (value,) = values.named(name)
        assert value.flags & NOT_READ and value.note and value.statistics is None
    assert sum(values.losses.values()) == 3


def test_forward_that_raises(tmp_path):
    source = """
import torch
class Inner(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 1:
            raise ValueError("too much")
        return None
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x, keep):
        try:
            self.inner(x)
        except ValueError:
            if not keep:
                raise
        return x
model = Model()
for value, keep in ((0, True), (1, True), (1, False), (0, True)):
    try:
        model(torch.full((3,), float(value)), keep)
    except ValueError as error:
        print(error)
"""
    done = harness.run_source(source, folder=tmp_path, exit="never", calls=1)
    assert done.stdout == "too much\n" and done.returncode == 0 and "Warning" not in done.stderr
    calls = values_reader.read(tmp_path).calls
    assert [(call.module, bool(call.flags & RAISED)) for call in calls] == [
        ("model.inner", False), ("model", False), ("model.inner", True), ("model", False),
        ("model.inner", True), ("model", True), ("model.inner", False), ("model", False)]
    by_id = {call.id: call for call in calls}
    assert all(by_id[call.parent].module == "model" for call in calls if call.module == "model.inner")
    assert all(call.parent == 0 for call in calls if call.module == "model")


def test_calls_tell_time_and_memory(watched):
    _, values, _ = watched
    calls = [call for call in values.calls if not call.flags & BACKWARD]  # of those: test_backward_calls.py
    roots = [call for call in calls if call.parent == 0]
    assert [call.module for call in roots] == ["model"] * 6 and [call.mode for call in roots] == [1, 1, 2, 1, 1, 2]
    by_id = {call.id: call for call in calls}
    for call in calls:
        assert call.begin_ns <= call.end_ns and call.peak >= max(call.live_before, call.live_after)
        if call.parent:
            parent = by_id[call.parent]
            assert parent.begin_ns <= call.begin_ns and call.end_ns <= parent.end_ns and parent.peak >= call.peak
    assert {call.class_name for call in calls} == {"Model", "Block", "Attention", "Linear", "LayerNorm"}


def test_peak_within_a_call_is_exact(tmp_path):
    source = """
import torch
class Wide(torch.nn.Module):
    def forward(self, x):
        torch.empty(1 << 20, dtype=torch.uint8)
        return x
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = Wide(), torch.nn.Identity()
    def forward(self, x):
        return self.narrow(self.wide(x))
model = Model()
x = torch.empty(100)
model(x)
"""
    assert harness.run_source(source, folder=tmp_path, exit="never", calls=1).returncode == 0
    calls = {call.module: call for call in values_reader.read(tmp_path).calls}
    assert calls["model.wide"].peak - calls["model.wide"].live_before == 1 << 20
    assert calls["model"].peak == calls["model.wide"].peak
    assert calls["model.narrow"].peak == calls["model.narrow"].live_before


def test_watch_file(tmp_path):
    file = tmp_path / "watch.toml"
    file.write_text('flush = "100ms"\n[[watch]]\npath = "model.**"\nclass = "Linear"\nexclude = ["model.head"]\n'
                    'every = 2\nmode = "train"\nkeep = ["full", "hash", "statistics"]\n')
    done = harness.run("watch_model.py", folder=tmp_path, exit="never", watch=file)
    assert done.returncode == 0
    values = values_reader.read(tmp_path)
    assert {value.name for value in values.values} == {f"model.layers.{i}.attn.project" for i in range(3)}
    assert {value.step for value in values.values} == {0, 2} and {value.mode for value in values.values} == {1}
    assert len({value.statistics.hash for value in values.values}) == len(values.values)


def test_errors_of_a_watch_file_are_lines(tmp_path):
    file = tmp_path / "watch.toml"
    file.write_text('[[watch]]\npath = "model.a..b"\n[[watch]]\npath = "model"\nevery = 0\nmoed = "train"\n')
    done = subprocess.run([harness.CLI, "watch", "--check", file], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 3 and all(line.startswith(f"tensorscope: {file}:") for line in lines)
    assert f"{file}:2: path 'model.a..b': a segment is empty" in lines[0]
    assert any("unknown key 'moed'" in line for line in lines) and any("every takes" in line for line in lines)
    done = harness.run("watch_model.py", folder=tmp_path, exit="never", watch=file)
    assert done.returncode == 0 and "unknown key 'moed'" in done.stderr and "nothing is watched" in done.stderr
    assert subprocess.run([harness.CLI, "run", "--watch", file, "--", "true"], capture_output=True).returncode == 2


def test_a_watch_that_never_matched(tmp_path):
    done = harness.run("watch_model.py", folder=tmp_path, exit="never", watch="model.layer.0.attn,model.head")
    assert done.returncode == 0
    values = values_reader.read(tmp_path)
    assert list(values.unmatched) == ["model.layer.0.attn"] and "model.layers.0.attn" in values.unmatched["model.layer.0.attn"]


LOOP = """
import os, sys, time, torch
model = torch.nn.Linear(64, 64)
x = torch.ones(64)
print("go", flush=True)
while True:
    model(x)
    time.sleep(0.001)
"""


def test_sigkill_leaves_a_whole_file(tmp_path):
    path = tmp_path / "loop.py"
    path.write_text(LOOP)
    process = subprocess.Popen([harness.PYTHON, path], env=harness.environment(tmp_path, watch="full:model"), cwd=tmp_path)
    try:
        files = []
        while not files or files[0].stat().st_size < 100_000:
            assert process.poll() is None
            time.sleep(0.05)
            files = list(tmp_path.glob("*.values"))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    values = values_reader.read(tmp_path)  # asserts that no chunk is cut
    assert not values.ended and len(values.named("model")) > 100


def test_a_full_disk_costs_values_only(tmp_path):
    # So many calls before the first values are in the file, and more than it may hold after it.
    wait = "    while i == 200 and not any(name.endswith('.values') and os.path.getsize(name) > 50_000 for name in os.listdir()):\n" \
           "        time.sleep(0.01)\n"
    source = LOOP.replace("while True", "for i in range(3000)") + wait + "print('done')\n"
    path = tmp_path / "loop.py"
    path.write_text(source)
    limit = 300_000
    done = subprocess.run([harness.PYTHON, path], env=harness.environment(tmp_path, watch="full:model", exit="never"), cwd=tmp_path,
                          capture_output=True, text=True, timeout=harness.TIMEOUT,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 0 and done.stdout == "go\ndone\n"
    assert done.stderr.count("values are no longer recorded") == 1
    (file,) = tmp_path.glob("*.values")
    assert file.stat().st_size <= limit
    assert len(values_reader.Values(file).named("model")) > 50


def test_another_file_is_never_replaced(tmp_path):
    done = harness.run_source("import os, torch\nopen(f'program.{os.getpid()}.values', 'w').write('mine')\n"
                              "torch.nn.Linear(1, 1)(torch.ones(1))\n", folder=tmp_path, exit="never", watch="**")
    assert done.returncode == 0
    mine, other = sorted(tmp_path.glob("*.values"), key=lambda path: "-2" in path.name)
    assert mine.read_text() == "mine" and values_reader.Values(other).values


def test_a_forked_child_has_a_file_of_its_own(tmp_path):
    source = """
import os, sys, torch
model = torch.nn.Linear(2, 2)
model(torch.ones(2))
child = os.fork()
for _ in range(2 if child else 3):
    model(torch.zeros(2))
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    assert harness.run_source(source, folder=tmp_path, exit="never", watch="model").returncode == 0
    counts = sorted(len(values_reader.Values(path).named("model")) for path in tmp_path.glob("*.values"))
    assert counts == [3, 3]


def test_compiled_regions_and_transforms_are_as_without(tmp_path):
    source = """
import torch
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def forward(self, x):
        return checkpoint(self.b, torch.relu(self.a(x)), use_reentrant=False)
model = Model()
compiled = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), backend="eager", fullgraph=True)
x = torch.randn(3, 4)
loss = compiled(model(x)).sum()
loss.backward()
print(loss.item(), model.a.weight.grad.sum().item(), torch.vmap(model.a)(x).sum().item(), torch.rand(1).item())
print(torch.func.grad(lambda w: torch.func.functional_call(model.a, {"weight": w}, (x,)).sum())(model.a.weight.detach()).sum().item())
"""
    plain = harness.run_source(source, folder=tmp_path, preload=False)
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="full:**", calls=1)
    assert plain.returncode == 0, plain.stderr
    assert done.returncode == 0 and done.stdout == plain.stdout
    assert harness.program_stderr(done) == harness.program_stderr(plain)
