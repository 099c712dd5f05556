# SPDX-License-Identifier: Apache-2.0
"""Functions of a file that the watch file names are called at the seed's four moments, and the program is as without."""

# Covers: preload/watch/callbacks.cc analyzer/cli/watch.cc

import subprocess

import harness
import pytest
import torch
import values_reader

pytest.importorskip("flatbuffers")

PROGRAM = """
import random, torch
torch.manual_seed(1), random.seed(1)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
truth = []
def step(i):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 3)).sum()
    loss.backward()
    truth.append((loss.detach().clone(), model[0].weight.grad.clone()))
    optimizer.step()
for i in range(5):
    step(i)
print(model[0].weight.double().sum().item(), torch.rand(1).item(), random.random(), model[0].weight._version)
torch.save(truth, "truth.pt")
"""
CALLBACKS = """
import random, torch
def twice(name, value, iteration):
    assert not torch.is_grad_enabled() and not value.requires_grad
    torch.rand(3), random.random(), torch.nn.Linear(2, 2)(torch.ones(2))
    print("pre_save", name, iteration, flush=True) if name == "model" else None
    return value * 2
def text(name, value, iteration):
    return f"{name} {iteration}"
class Sums:
    def local(name, result):
        assert result.ranks is None
        result.values = [value.sum() for value in result.values]
def stack(name, result):
    print("post_gather", name, len(result.values), result.iterations, result.ranks, flush=True)
    result.values = torch.stack(result.values)
def keep_even(name, result):
    both = [(value, i) for value, i in zip(result.values, result.iterations) if i % 2 == 0]
    result.values, result.iterations = [value for value, _ in both], [i for _, i in both]
def end(name, result):
    print("post_trace", name, len(result.values), result.iterations, result.ranks, flush=True)
def fails(name, value, iteration):
    if iteration == 2:
        raise ValueError("no\\nsuch value")
    return value
def leaves(name, value, iteration):
    raise SystemExit(3)
"""


def run(folder, spec, source=PROGRAM, callbacks=CALLBACKS, **options):
    (folder / "watch.toml").write_text(spec)
    (folder / "callbacks.py").write_text(callbacks)
    return harness.run_source(source, folder=folder, exit="never", watch=folder / "watch.toml", **options)


def watch(path, **keys):
    return "\n".join([f"[[watch]]\npath = {path!r}\nkeep = 'full'"] + [f"{key} = {value!r}" for key, value in keys.items()]) + "\n"


def lines_of(done, word):
    return [line for line in done.stdout.splitlines() if line.startswith(word)]


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    return harness.run_source(PROGRAM, folder=tmp_path_factory.mktemp("without"), preload=False)


def test_each_value_before_it_is_recorded(without, tmp_path):
    spec = watch("program.py:step:loss", pre_save="callbacks.py:twice") + watch("model.0.weight.grad", pre_save="callbacks.py:twice")
    spec += watch("model", pre_save="callbacks.py:twice") + watch("model.2", pre_save=["callbacks.py:twice", "callbacks.py:text"])
    done = run(tmp_path, spec)
    assert done.returncode == 0 and "failed" not in done.stderr, done.stderr
    values, truth = values_reader.read(tmp_path), torch.load(tmp_path / "truth.pt")
    assert not values.losses
    for name, part in (("program.py:step:loss", 0), ("model.0.weight.grad", 1)):
        found = values.named(name)
        assert [value.step for value in found] == [0, 1, 2, 3, 4]
        assert all(torch.equal(values.tensor(value), each[part] * 2) for value, each in zip(found, truth)), name
    assert [value.data.decode() for value in values.named("model.2")] == [f"model.2 {i}" for i in range(5)]
    assert lines_of(done, "pre_save") == [f"pre_save model {i}" for i in range(5)]
    assert {value.site.split()[0] for value in values.named("model")} == {"program.py:9"}
    assert done.stdout.splitlines()[-1] == without.stdout.splitlines()[-1]


def test_an_unchanged_value_is_still_kept_once(tmp_path):
    source = "import torch\nmodel = torch.nn.Linear(2, 2)\nfor _ in range(3):\n    model(torch.ones(2))\n"
    done = run(tmp_path, watch("model.weight", pre_save="callbacks.py:same"), source, "def same(name, value, iteration):\n    return value\n")
    assert done.returncode == 0, done.stderr
    found = values_reader.read(tmp_path).named("model.weight")
    assert [bool(value.flags & values_reader.UNCHANGED) for value in found] == [False, True, True]


def test_what_a_step_brought_together_is_changed_in_place(tmp_path, monkeypatch):
    spec = watch("model.0.weight.grad", gather=2, pre_gather="callbacks.py:Sums.local", post_gather="callbacks.py:stack")
    spec += watch("program.py:step:loss", gather=4, pre_gather="callbacks.py:keep_even")
    monkeypatch.setenv("RANK", "3")
    done = run(tmp_path, spec)
    assert done.returncode == 0 and "failed" not in done.stderr, done.stderr
    values, truth = values_reader.read(tmp_path), torch.load(tmp_path / "truth.pt")
    assert lines_of(done, "post_gather") == [f"post_gather model.0.weight.grad {n} {steps} {[3] * n}"
                                             for n, steps in ((2, [0, 1]), (2, [2, 3]), (1, [4]))]
    sums = [grad.sum() for _, grad in truth]
    found = values.named("model.0.weight.grad")
    assert [(value.step, values.tensor(value).tolist()) for value in found] == [
        (1, [sums[0].item(), sums[1].item()]), (3, [sums[2].item(), sums[3].item()]), (4, [sums[4].item()])]
    losses = values.named("program.py:step:loss")
    assert [(value.step, values.tensor(value).item()) for value in losses] == [(i, truth[i][0].item()) for i in (0, 2, 4)]


def test_the_whole_run_at_its_end(tmp_path):
    spec = watch("model.0.weight.grad", post_gather="callbacks.py:keep_even", post_trace="callbacks.py:end")
    done = run(tmp_path, spec)
    assert lines_of(done, "post_trace") == ["post_trace model.0.weight.grad 3 [0, 2, 4] [0, 0, 0, 0, 0]"]
    assert [value.step for value in values_reader.read(tmp_path).named("model.0.weight.grad")] == [0, 2, 4]


def test_a_failing_callback_costs_its_watch(without, tmp_path):
    spec = watch("program.py:step:loss", pre_save="callbacks.py:fails") + watch("model.2", pre_save="callbacks.py:leaves")
    spec += watch("model.0", pre_save="callbacks.py:nothing") + watch("model", pre_save="missing.py:f") + watch("model.1")
    done = run(tmp_path, spec, quiet=0)
    assert (done.returncode, done.stdout) == (0, without.stdout), done.stderr
    values = values_reader.read(tmp_path)
    assert len(values.named("program.py:step:loss")) == 2 and len(values.named("model.1")) == 5
    assert not values.named("model.2") and not values.named("model.0") and not values.named("model")
    said = [line for line in done.stderr.splitlines() if "failed" in line]
    assert len([line for line in said if "no longer recorded" in line]) == 4
    assert sum("pre_save callbacks.py:fails failed: ValueError: no such value; its values are no longer recorded" in line for line in said) == 1
    assert sum("pre_save callbacks.py:fails failed: ValueError: no such value: 3 values were not recorded" in line for line in said) == 1
    shown = subprocess.run([harness.CLI, "values", *tmp_path.glob("*.values")], capture_output=True, text=True).stdout
    assert "values: 3 (pre_save callbacks.py:fails failed: ValueError: no such value)" in shown
    assert "values: 5 (pre_save callbacks.py:leaves failed: SystemExit: 3)" in shown


def test_an_interrupt_within_a_callback_is_the_programs(tmp_path):
    source = """
import signal, torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
model = torch.nn.Linear(2, 2)
try:
    for i in range(1000):
        model(torch.ones(2))
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", i)
"""
    callbacks = "import os, signal\ndef kill(name, value, iteration):\n    if not done:\n        done.append(1)\n        os.kill(os.getpid(), signal.SIGINT)\n    return value\ndone = []\n"
    done = run(tmp_path, watch("model", pre_save="callbacks.py:kill"), source, callbacks)
    assert (done.returncode, done.stdout) == (0, "interrupted 0\n"), done.stderr


def test_calls_and_functions_of_a_callback_are_not_watched(tmp_path):
    callbacks = "import torch\nprobe = torch.nn.Linear(2, 2)\ndef inner(value):\n    x = probe(value)\n    return x\ndef f(name, value, iteration):\n    return inner(value)\n"
    spec = watch("**", pre_save="callbacks.py:f") + watch("callbacks.py:inner:x")
    done = run(tmp_path, spec, "import torch\nmodel = torch.nn.Linear(2, 2)\nfor _ in range(3):\n    model(torch.ones(2))\n", callbacks)
    assert done.returncode == 0, done.stderr
    assert {value.name for value in values_reader.read(tmp_path).values} == {"model"}


def test_a_forked_child_gathers_its_own(tmp_path):
    source = """
import os, torch
model = torch.nn.Linear(2, 2)
model(torch.ones(2))
child = os.fork()
model(torch.ones(2))
if child:
    os.waitpid(child, 0)
"""
    callbacks = "import os\ndef end(name, result):\n    os.write(1, f'{len(result.values)}\\n'.encode())\n"
    done = run(tmp_path, watch("model", gather=10, post_trace="callbacks.py:end"), source, callbacks)
    assert done.returncode == 0 and done.stdout == "1\n2\n", done.stderr
    assert sorted(len(values_reader.Values(path).values) for path in tmp_path.glob("*.values")) == [1, 2]


def test_a_file_is_checked_before_the_program_runs(tmp_path):
    (tmp_path / "callbacks.py").write_text(CALLBACKS + "from os.path import join as joined, exists\nother = twice\n")
    file = tmp_path / "watch.toml"
    keys = {"pre_save": ["callbacks.py:twice", "callbacks.py:other", "callbacks.py:joined", "callbacks.py:exists"], "pre_gather": "callbacks.py:Sums.local"}
    file.write_text(watch("model", gather=5, **keys))
    check = [harness.CLI, "watch", "--check", file]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0 and "pre_gather callbacks.py:Sums.local, gathered for 5 steps" in done.stdout, done.stderr
    file.write_text(watch("model", pre_save="callbacks.py:halve", post_trace="missing.py:f") + watch("model", pre_save="callbacks.py", gather=0)
                    + watch("model", of="op", post_gather="callbacks.py:stack"))
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.splitlines() == [
        f"tensorscope: {file}:9: pre_save takes a file and a function, such as \"callbacks.py:halve\"",
        f"tensorscope: {file}:10: gather takes a number of steps from 1 on",
        f"tensorscope: {file}:15: callbacks do not go with of = \"op\"",
        f"tensorscope: {file}:4: {tmp_path}/callbacks.py has no 'halve'; it has twice, text, stack, keep_even, end, fails, leaves",
        f"tensorscope: {file}:5: {tmp_path}/missing.py: No such file or directory"]
