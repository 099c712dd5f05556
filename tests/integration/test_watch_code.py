# SPDX-License-Identifier: Apache-2.0
"""Variables and returned values are what the program itself has, each time and in order, and the program is as without."""

# Covers: preload/watch/variables/{variable_watch,code_plan,code_monitoring,code_tracing}.cc preload/watch/object_values.cc

import json
import subprocess

import harness
import pytest
import torch
import values_reader

pytest.importorskip("flatbuffers")

KINDS = "tensor none boolean integer real text complex other".split()
LOCAL, RETURNED = 7, 8
SEEN = ["watch_code.py:loop:i", "watch_code.py:loop:total", "watch_code.py:loop", "watch_code.py:last_line:y", "model.0.forward:weights",
        "model.0.scale", "watch_code.py:Outer.Inner.run:text", "watch_code.py:Outer.Inner.make", "watch_code.py:make_step.step:moved",
        "watch_code.py:in_place:x", "watch_code.py:raises:y", "watch_code.py:handles:y", "watch_code.py:produce",
        "watch_code.py:gradient:x.grad"]
OTHERS = ["model.*.forward:weights", "watch_code.py:plain_values:*", "watch_code.py:<module>:*", "watch_code.py:gradient:x.shape",
          "watch_code.py:gradient:x.shape[1]", "watch_code.py:make_step.step:batch['x'][0]", "watch_code.py:wait",
          "watch_code.py:wait:result", "watch_*.py:l*p:count"]
WATCH = ",".join("full:" + ("returns:" if path == "model.0.scale" else "") + path for path in SEEN + OTHERS)


def value_of(values, value):
    kind = KINDS[value.kind]
    if kind == "tensor":
        return values.tensor(value)
    if kind in ("text", "other"):
        return value.data.decode()
    return {"none": None, "boolean": bool(value.number), "integer": value.integer, "real": value.number,
            "complex": complex(value.number, value.imaginary)}[kind]


def all_of(values, name, watch=None):
    return [value_of(values, value) for value in values.named(name) if watch in (None, value.watch)]


def lines_of(program, *texts):
    lines = (harness.PROGRAMS / program).read_text().splitlines()
    return [next(number for number, line in enumerate(lines, 1) if text in line) for text in texts]


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    done = harness.run("watch_code.py", folder=folder, exit="never", watch=WATCH)
    assert done.returncode == 0, done.stderr
    return done, values_reader.read(folder), torch.load(folder / "truth.pt")


def test_the_program_is_as_without(watched, tmp_path):
    without = harness.run("watch_code.py", folder=tmp_path, preload=False)
    assert watched[0].stdout == without.stdout


@pytest.mark.parametrize("name", SEEN)
def test_each_value_in_its_order(watched, name):
    _, values, truth = watched
    expected = [value for known, value in truth if known == name]
    found = all_of(values, name, name)
    assert len(found) == len(expected) > 0
    for mine, theirs in zip(found, expected):
        assert type(mine) is type(theirs) and (torch.equal(mine, theirs) if isinstance(mine, torch.Tensor) else mine == theirs)
    assert not values.losses and values.ended


def test_scalars_are_as_they_are(watched):
    _, values, _ = watched
    name = "watch_code.py:plain_values:"
    assert [all_of(values, name + each) for each in "abcde"] == [[1], [2.5], [True], [None], [3 + 4j]]
    assert all_of(values, name + "f[0]") == [torch.ones(1)] and all_of(values, name + "f[1]['k']") == [torch.zeros(1)]
    assert all_of(values, name + "g") == ["object"]


def test_attributes_keys_and_indexes(watched):
    _, values, _ = watched
    assert all_of(values, "watch_code.py:gradient:x.shape") == ["[2, 3]"] * 2
    assert all_of(values, "watch_code.py:gradient:x.shape[1]") == [3, 3]
    assert [value.tolist() for value in all_of(values, "watch_code.py:make_step.step:batch['x'][0]")] == [[1, 1]]


def test_patterns_of_modules_and_names(watched):
    _, values, _ = watched
    assert len(all_of(values, "model.1.forward:weights")) == 2
    assert all_of(values, "watch_code.py:loop:count") == [3, 3]
    assert not values.named("model.1.scale")


def test_variables_of_the_main_module(watched):
    _, values, _ = watched
    assert all_of(values, "watch_code.py:<module>:rate") == [0.5]  # it had a value already when recording began
    assert [value.tolist() for value in all_of(values, "watch_code.py:<module>:last")] == [[4.0]]


def test_coroutines(watched):
    _, values, _ = watched
    assert all_of(values, "watch_code.py:wait:result") == [2] and all_of(values, "watch_code.py:wait") == [2]


def test_places_lines_modules_and_indexes(watched):
    _, values, _ = watched
    assigned, added, ended = lines_of("watch_code.py", "for i in range(count)", "total = total + i", 'return note("watch_code.py:loop"')
    loop = values.named("watch_code.py:loop:i")
    assert [value.index for value in loop] == [0, 1, 2] * 2 and {value.place for value in loop} == {LOCAL}
    assert {value.site for value in loop} == {values.named("watch_code.py:loop:i")[0].site}
    assert loop[0].site.endswith(f"watch_code.py:{assigned}")
    assert values.named("watch_code.py:loop:total")[1].site.endswith(f"watch_code.py:{added}")
    (returned, _) = values.named("watch_code.py:loop")
    assert returned.place == RETURNED and returned.site.endswith(f"watch_code.py:{ended}")
    assert {value.module for value in values.named("model.1.forward:weights")} == {"model.1"}
    assert all(value.call for value in values.named("model.0.forward:weights"))


POINTS = """
import torch
def f(n):
    x = torch.zeros(1)
    for i in range(n):
        x = x + (
            i)
        if i == 1: continue
        y = float(x)
    try:
        z = int("no")
    except ValueError:
        z = 3
    return x
f(3)
f(0)
loss = torch.full((1,), 7.0)
loss = loss * 2
"""


def points(folder, *paths, source=POINTS):
    return printed_and_points(folder, *paths, source=source)[1]


def printed_and_points(folder, *paths, source):
    done = harness.run_source(source, folder=folder, exit="never", watch=",".join("full:" + path for path in paths))
    assert done.returncode == 0, done.stderr
    return done.stdout, values_reader.read(folder)


def test_source_points(tmp_path):
    values = points(tmp_path, "program.py:6:x", "program.py:8:x", "program.py:5:i", "program.py:9:y", "program.py:11:z", "program.py:13:z",
                    "program.py:17:loss", "program.py:10:x")
    assert [float(value) for value in all_of(values, "program.py:6:x")] == [0, 1, 3]
    assert [float(value) for value in all_of(values, "program.py:8:x")] == [0, 1, 3]  # it is only used there
    assert all_of(values, "program.py:5:i") == [0, 1, 2]
    assert all_of(values, "program.py:9:y") == [0.0, 3.0]
    assert all_of(values, "program.py:11:z") == [] and all_of(values, "program.py:13:z") == [3, 3]  # line 11 raised
    assert [float(value) for value in all_of(values, "program.py:17:loss")] == [7.0]
    assert [float(value) for value in all_of(values, "program.py:10:x")] == [3.0, 0.0]
    assert list(values.unmatched) == ["program.py:11:z"]


def test_only_steps_that_are_due(tmp_path):
    source = """
import torch
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step(i):
    loss = model(torch.ones(1)).sum()
    loss.backward()
    optimizer.step()
    return i
for i in range(5):
    step(i)
"""
    (tmp_path / "watch.toml").write_text("[[watch]]\npath = ['program.py:step', 'program.py:step:loss']\nevery = 2\n"
                                         "[[watch]]\npath = 'model.forward.input'\nsteps = '1-2'\nclass = 'Linear'\n")
    assert harness.run_source(source, folder=tmp_path, exit="never", watch=tmp_path / "watch.toml").returncode == 0
    values = values_reader.read(tmp_path)
    assert [value.step for value in values.named("program.py:step:loss")] == [0, 2, 4]
    assert all_of(values, "program.py:step") == [1, 3]  # when it returns, the optimizer's step is done
    assert [value.step for value in values.named("model.forward:input")] == [1, 2]


def test_nothing_is_traced_where_nothing_is_due(tmp_path):
    source = """
import ctypes, sys, torch
look = []
class Model(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        look.append(traced.value is not None if trace_function else sys.monitoring.get_local_events(4, code) != 0)
        return y
code, model = Model.forward.__code__, Model()
optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1)
ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
trace_function = {(3, 10): 64, (3, 11): 72}.get(sys.version_info[:2])  # of PyThreadState
traced = trace_function and ctypes.c_void_p.from_address(ctypes.pythonapi.PyThreadState_Get() + trace_function)
for step in range(5):
    model(torch.ones(1))
    optimizer.step()
print(look)
"""
    (tmp_path / "watch.toml").write_text("[[watch]]\npath = 'model.forward:y'\nevery = 2\n")
    done = harness.run_source(source, folder=tmp_path, exit="never", watch=tmp_path / "watch.toml")
    assert (done.returncode, done.stdout) == (0, "[True, False, True, False, True]\n"), done.stderr
    assert [value.step for value in values_reader.read(tmp_path).named("model.forward:y")] == [0, 2, 4]


def test_what_nobody_else_has_is_said(tmp_path):
    source = "import torch\ndef train_step():\n    loss = torch.ones(1)\n    return loss\ntrain_step()\n"
    values = points(tmp_path, "program.py:train_stop:loss", "program.py:train_step:lost", "programm.py:f:x", "program.py:train_step",
                    source=source)
    assert {path: nearest[0] for path, nearest in values.unmatched.items()} == {
        "program.py:train_stop:loss": "train_step", "program.py:train_step:lost": "loss", "programm.py:f:x": "program.py"}


def test_errors_of_paths(tmp_path):
    file = tmp_path / "watch.toml"
    file.write_text("[[watch]]\npath = 'train.py:57'\n\n[[watch]]\npath = 'train.py:step:a b'\n\n[[watch]]\nof = 'returns'\npath = 'a.py:f:x'\n")
    done = subprocess.run([harness.CLI, "watch", "--check", file], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.splitlines() == [
        f"tensorscope: {file}:2: path 'train.py:57': a line needs a variable: train.py:57:VARIABLE",
        f"tensorscope: {file}:5: path 'train.py:step:a b': 'a b' is no name of a variable",
        f"tensorscope: {file}:9: path 'a.py:f:x': what is returned is no variable"]
    done = subprocess.run([harness.CLI, "watch", "--check", "train.py:step:loss", "train.py:step"], capture_output=True, text=True)
    assert done.returncode == 0 and "variables" in done.stdout and "what is returned" in done.stdout


TRACED = """
import sys, torch
events = []
def tracer(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        events.append((frame.f_code.co_name, event, frame.f_lineno))
        return tracer
def helper(x):
    return x + 1
def begin():
    sys.settrace(tracer)
def step(x):
    before = torch.zeros(1)
    y = helper(x)
    BEGIN
    z = helper(y)
    sys.settrace(None)
    after = [helper(i) for i in range(2)]
    return z
torch.ones(1)
FIRST
step(torch.ones(1))
sys.settrace(None)
step(1)
print(events, sys.gettrace(), sys.getprofile())
"""


@pytest.mark.cases(2)
@pytest.mark.parametrize("begin, first", [("begin()", ""), ("sys.settrace(tracer)", ""), ("pass", "sys.settrace(tracer)"), ("pass", "")])
def test_another_tracer_sees_what_it_sees_without(tmp_path, begin, first):
    source = TRACED.replace("BEGIN", begin).replace("FIRST", first)
    without = harness.run_source(source, folder=tmp_path, preload=False)
    printed, values = printed_and_points(tmp_path, "program.py:step:*", "program.py:helper:x", "program.py:step", source=source)
    assert printed == without.stdout and without.returncode == 0
    assert all_of(values, "program.py:step")[1] == 3 and len(all_of(values, "program.py:step")) == 2
    assert all_of(values, "program.py:step:y")[-1] == 2


def test_a_profiler_and_a_debugger_are_as_without(tmp_path):
    source = """
import bdb, cProfile, pstats, torch
class Debugger(bdb.Bdb):
    def user_line(self, frame):
        if frame.f_code.co_filename == __file__:
            seen.append((frame.f_code.co_name, frame.f_lineno))
        self.set_step()
seen = []
def inner(x):
    y = x + 1
    return y
def step(x):
    z = inner(x)
    return z
torch.ones(1)
profile = cProfile.Profile()
profile.runcall(step, 1)
counts = sorted((key[2], value[:2]) for key, value in pstats.Stats(profile).stats.items() if key[0] == __file__)
debugger = Debugger()
debugger.runcall(step, 2)
step(3)
print(seen, counts)
"""
    without = harness.run_source(source, folder=tmp_path, preload=False)
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="program.py:step:z,program.py:inner:y,program.py:inner")
    assert without.returncode == 0 and done.stdout == without.stdout
    values = values_reader.read(tmp_path)
    assert all_of(values, "program.py:inner") == [2, 3, 4] and all_of(values, "program.py:step:z") == [2, 3, 4]


def test_counts_of_lines_are_as_without(tmp_path):
    source = """
import sys, trace, torch
def step(n):
    total = 0
    for i in range(n):
        total += i
    return total
torch.ones(1)
tracer = trace.Trace(count=1, trace=0)
tracer.runfunc(step, 5)
print({line: count for (file, line), count in tracer.results().counts.items() if file == __file__})
"""
    without = harness.run_source(source, folder=tmp_path, preload=False)
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="program.py:step:total,program.py:step")
    assert without.returncode == 0 and done.stdout == without.stdout
    assert all_of(values_reader.read(tmp_path), "program.py:step") == [10]


def test_no_value_is_kept_and_no_exception_is_changed(tmp_path):
    source = """
import gc, sys, traceback, weakref, torch
class Thing: pass
def make():
    thing, tensor = Thing(), torch.ones(3)
    result = tensor * 2
    return weakref.ref(thing), weakref.ref(tensor), result, result._version
def deep(n):
    if n == 0:
        raise KeyError("gone")
    try:
        deep(n - 1)
    finally:
        local = n
def produce():
    try:
        x = yield 1
        y = yield x
    finally:
        left = 2
gc.disable()
thing, tensor, result, version = make()
print(thing(), tensor(), sys.getrefcount(result), version, result._version)
try:
    deep(3)
except KeyError:
    print(traceback.format_exc())
def endless(n):
    return endless(n + 1)
try:
    endless(0)
except RecursionError as error:
    print(error)
g = produce()
print(next(g), g.send(5)); g.close()
g = produce(); next(g)
try:
    g.throw(ValueError("in"))
except ValueError as error:
    print(error, [frame.name for frame in traceback.extract_tb(error.__traceback__)])
def nested():
    yield from produce()
print(list(nested()), sys.exc_info())
"""
    without = harness.run_source(source, folder=tmp_path, preload=False)
    printed, values = printed_and_points(tmp_path, "program.py:*:*", "program.py:*", "program.py:36:error", source=source)
    assert without.returncode == 0 and printed == without.stdout
    assert all_of(values, "program.py:produce:x") == [5, None] and all_of(values, "program.py:produce:left") == [2, 2, 2]
    assert all_of(values, "program.py:deep:local") == [1, 2, 3]


def test_compiled_functions_work_and_are_said(tmp_path):
    source = """
import torch
def step(x):
    y = torch.relu(x) * 2
    return y + 1
compiled = torch.compile(step, backend="eager")
print(compiled(torch.ones(2)), compiled(torch.zeros(2)), step(torch.ones(2)))
"""
    without = harness.run_source(source, folder=tmp_path, preload=False)
    printed, values = printed_and_points(tmp_path, "program.py:step:y", "program.py:step", source=source)
    assert without.returncode == 0 and printed == without.stdout
    assert [value.tolist() for value in all_of(values, "program.py:step:y")][-1] == [2, 2]
    assert ("variables", "inside what torch.compile() compiled") in values.losses


def test_threads_and_a_forked_child(tmp_path):
    source = """
import os, threading, torch
def step(x):
    y = x + 1
    return y
torch.ones(1)
threads = [threading.Thread(target=lambda i=i: [step(i) for _ in range(50)]) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
child = os.fork()
step(100)
if child: assert os.waitpid(child, 0)[1] == 0
"""
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="program.py:step:y,program.py:step")
    assert done.returncode == 0, done.stderr
    files = [values_reader.Values(path) for path in tmp_path.glob("*.values")]
    for values in files:
        for name in ("program.py:step:y", "program.py:step"):
            found = all_of(values, name)
            assert found.count(101) == 1 and (found == [101] or all(found.count(i + 1) == 50 for i in range(4)))
    assert sorted(len(values.values) for values in files) == [2, 402]


def test_coverage_is_as_without(tmp_path):
    if subprocess.run([harness.PYTHON, "-c", "import coverage"], capture_output=True).returncode != 0:
        pytest.skip("coverage.py is not installed")
    reports = []
    for preload in (False, True):
        folder = tmp_path / str(preload)
        folder.mkdir()
        environment = harness.environment(folder, preload, exit="never", watch=WATCH)
        for arguments in (["run", "--branch", "--include=*/watch_code.py", harness.PROGRAMS / "watch_code.py"], ["json", "-q", "-o", "out.json"]):
            subprocess.run([harness.PYTHON, "-m", "coverage", *arguments], env=environment, cwd=folder, check=True, capture_output=True)
        (file,) = json.loads((folder / "out.json").read_text())["files"].values()
        reports.append({key: file[key] for key in ("executed_lines", "missing_lines", "executed_branches")})
    assert reports[0] == reports[1] and len(reports[0]["executed_lines"]) > 50
