# SPDX-License-Identifier: Apache-2.0
"""--find-nan names the first operation that makes a NaN or an infinity, and leaves the program as it is."""

# Covers: preload/find_nan/{find_nan,nan_report,storage_marks,nan_candidates}.cc
# Covers: preload/torch_events/{operation_trace,operation_kinds}.cc preload/tensor_values/{finite,value_bounds}.cc
# Covers: preload/find_nan/{checked_operation,finding_description,nan_origin,result_check}.cc

import functools
import pathlib
import re
import subprocess
import tempfile

import harness
import pytest
import values_reader

PROGRAM = "nan.py"
ENDED = 99


def find_nan(name, folder, mode="on", program=PROGRAM, **options):
    return harness.run(program, name, folder=folder, find_nan=mode, exit="never", **options)


@functools.cache
def found(name):
    """The finished program with its values file, or None, once for all tests that only read what it said."""
    needs_scaler(name)
    with tempfile.TemporaryDirectory() as folder:
        done = find_nan(name, folder)
        done.values = values_reader.read(folder) if list(pathlib.Path(folder).glob("*.values")) else None
    assert done.returncode == 0, done.stderr
    return done


@functools.cache
def alone(name):
    """The same without the preload."""
    with tempfile.TemporaryDirectory() as folder:
        return harness.run(PROGRAM, name, folder=folder, preload=False)


def needs_scaler(name):
    if name == "scaled":
        harness.needs_torch(2, 3, "torch.amp.GradScaler")


def line_of(mark):
    text = (harness.PROGRAMS / PROGRAM).read_text().splitlines()
    return next(number for number, line in enumerate(text, 1) if line.endswith(f"# {mark}"))


def blocks(text):
    """The findings, each as its lines."""
    found = []
    for line in text.splitlines():
        if line.startswith("tensorscope: first "):
            found.append([line])
        elif found and line.startswith("  "):
            found[-1].append(line)
    return found


# program: what it made, operation, function, step and phase, cause
FOUND = {
    "log": ("NaN", "aten::log", "Log.forward", "step 0, forward pass", "its inputs are finite"),
    "zero": ("NaN", "aten::div", "Zero.forward", "step 0, forward pass", "its inputs are finite"),
    "half": ("infinity", "aten::exp", "Half.forward", "step 0, forward pass", "its inputs are finite"),
    "function": ("infinity", "aten::div", "Double.backward", "step 0, backward pass", "its inputs are finite"),
    "division": ("infinity", "aten::div_", "Division.step", "step 0, optimizer step", "its inputs are finite"),
    "row": ("NaN", "aten::_softmax (in aten::softmax)", "Masked.forward", "step 0, forward pass", "(a mask)"),
    "script": ("NaN", "aten::log", "Scripted.forward", "step 0, forward pass", "its inputs are finite"),
    "inference": ("NaN", "aten::log_", "inference", "step 0", "its inputs are finite"),
    "first": ("NaN", "aten::div", "first", "step 0", "its inputs are finite"),
    "foreach": ("infinity", "aten::addcdiv_ (in aten::_foreach_addcdiv_)", "foreach", "step 0, optimizer step",
                "a number that is not finite"),
}


# The others are found on the same path as "log" and "foreach".
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.cases(0)) if name in ("half", "division") else name for name in FOUND])
def test_the_origin_is_named(name):
    what, operation, function, when, cause = FOUND[name]
    done = found(name)
    first = blocks(done.stderr)[0]
    assert first[0] == f"tensorscope: first {what}: {operation}, {when}"
    assert re.fullmatch(rf"  at \S*nan\.py:{line_of(f'here: {name}')} {re.escape(harness.qualified(function))}", first[1]), first[1]
    assert cause in "\n".join(first)
    assert "tensorscope: --find-nan: found, see above; " in done.stderr
    assert "not checked" not in done.stderr


def test_in_a_backward_pass_the_forward_line_is_named():
    first = blocks(found("root").stderr)[0]
    assert first[0] == "tensorscope: first infinity: aten::div, step 0, backward pass"
    assert first[1].endswith(f"nan.py:{line_of('backward')} train")
    assert re.search(rf"in the backward of SqrtBackward0, made by the forward operation at \S*:{line_of('here: root')} {harness.qualified('Root.forward')}$",
                     first[2])
    assert "  module: model.inner (Root)" in first


def test_the_shares_and_ranges_are_those_of_the_values():
    first = "\n".join(blocks(found("inference").stderr)[0])
    assert "result 0: float32 [9]: 4 of 9 NaN (44 %), 1 of 9 -inf (11 %), the others -2.079 to -0.6931" in first
    assert "input 0:  float32 [9]: finite before, overwritten by the result" in first
    first = "\n".join(blocks(found("zero").stderr)[0])
    assert "input 1:  float32 [32, 16]: finite, 0 to 0" in first
    assert "module: model.inner (Zero)" in first
    assert "zero / zero" in first, "the line of source"


@pytest.mark.parametrize("name", ["data", "written"])
def test_what_comes_in_with_the_data_is_told_apart(name):
    first = blocks(found(name).stderr)[0]
    assert first[0] == "tensorscope: first NaN: aten::addmm (in aten::linear), step 2, forward pass"
    text = "\n".join(first)
    assert "cause: came in with an input" in text
    assert "input 1:  float32 [32, 8]: 1 of 256 NaN (0.4 %), the others -1 to 1" in text


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", ["mask", "added", "fine", "garbage", "replaced", "scaled"])
def test_what_is_no_finding(name):
    done = found(name)
    assert blocks(done.stderr) == []
    assert "--find-nan: no NaN or infinity made by " in done.stderr


def test_memory_that_nobody_wrote_is_no_finding():
    assert "; 1 operation read memory that nobody had written" in found("garbage").stderr


def test_steps_that_a_loss_scaler_skips_are_counted():
    assert "; 2 steps skipped by loss scaling" in found("scaled").stderr


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", [*FOUND, "root", "data", "mask", "added", "fine", "garbage", "replaced", "scaled"])
def test_the_program_computes_what_it_does_without(name):
    needs_scaler(name)
    without = alone(name)
    assert without.returncode == 0 and without.stdout
    assert found(name).stdout == without.stdout


def test_the_values_file_has_it():
    done = found("log")
    values = done.values
    (row,) = values.findings
    first = blocks(done.stderr)[0]
    assert first[0] == "tensorscope: " + row.headline
    assert (row.operation, row.module, row.step, row.backward) == ("aten::log", "model.inner", 0, False)
    assert row.site.endswith(f"nan.py:{line_of('here: log')} {harness.qualified('Log.forward')}")
    assert row.stack[0].endswith("return torch.log(x - 2)  # here: log") and len(row.stack) == 5
    assert (row.sizes, row.statistics.count, row.statistics.nan) == ([32, 16], 512, 512)
    (given,) = row.inputs
    assert given[0] == "input 0: float32 [32, 16]" and given[1].nan == 0 and -3.1 < given[1].minimum < given[1].maximum < -1
    assert values.ended and not values.values and "1 finding)" in done.stderr


def test_without_python_stacks_the_place_is_the_operation(tmp_path):
    """Not torch's call of our own observer, which is innermost."""
    done = find_nan("log", tmp_path, python=0)
    first = blocks(done.stderr)[0]
    assert first[0].startswith("tensorscope: first NaN: aten::log")
    places = [line for line in first if line.startswith("  at ")]
    assert places and "RecordFunction" not in places[0] and "libtensorscope" not in places[0], first


def test_a_program_without_a_finding_has_no_file():
    assert found("mask").values is None


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["log", "function", "foreach"])
def test_stop_ends_the_program_there(name, tmp_path):
    done = find_nan(name, tmp_path, mode="stop", find_nan_dump=1)
    assert done.returncode == ENDED, done.stderr
    assert "end" not in done.stdout and len(blocks(done.stderr)) == 1
    [dump] = harness.dumps(tmp_path)
    assert "--find-nan" in harness.cli("info", dump).stdout


@pytest.mark.cases(2)
@pytest.mark.parametrize("options, status", [(["--find-nan"], 0), (["--find-nan=stop"], ENDED), (["--stop", "--find-nan"], ENDED)])
def test_the_command_line_sets_it(options, status, tmp_path):
    done = subprocess.run([harness.CLI, "run", "--exit", "never", *options, "--", *harness.command(PROGRAM, "log")], cwd=tmp_path,
                          env=harness.environment(preload=False) | {"TENSORSCOPE_LIB": str(harness.LIBRARY)},
                          capture_output=True, text=True, timeout=harness.TIMEOUT)
    assert done.returncode == status, done.stderr
    assert len(blocks(done.stderr)) == 1


@pytest.mark.cases(2)
@pytest.mark.parametrize("seed", range(6))
def test_large_results_are_not_all_read_and_none_is_missed(seed, tmp_path):
    """Products and sums whose bounds are known are not read; the first that overflows is named all the same."""
    done = harness.run("nan_chains.py", "chains", str(seed), folder=tmp_path, find_nan="on", exit="never")
    assert done.returncode == 0, done.stderr
    known = done.stdout.strip()
    assert known, "no chain overflowed"
    lines = done.stderr.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("tensorscope: first "))
    assert [line for line in lines[:first] if line.startswith("begins ")][-1] == f"begins {known}"
    assert "cause: this operation made it; its inputs are finite" in "\n".join(lines[first:])


@pytest.mark.parametrize("how, operation", [("numpy", "aten::sum"), ("bits", "aten::mul")])
def test_what_others_write_into_a_large_result_is_found_by_the_first_operation_that_is_looked_at(how, operation, tmp_path):
    done = harness.run("nan_chains.py", how, folder=tmp_path, find_nan="on", exit="never")
    assert done.stdout == "nan\n", done.stderr
    first = "\n".join(blocks(done.stderr)[0])
    assert first.startswith(f"tensorscope: first NaN: {operation}"), first
    assert "cause: came in with an input; no operation of torch has made it" in first


def test_a_program_without_python(tmp_path):
    harness.needs_build_against_this_torch()
    done = find_nan("forward", tmp_path, program="cpp_nan")
    assert done.returncode == 0, done.stderr
    first = blocks(done.stderr)[0]
    assert first[0] == "tensorscope: first NaN: aten::log, step 0, forward pass"
    assert first[1].startswith("  at cpp_nan make_nan")
    done = find_nan("backward", tmp_path, program="cpp_nan")
    first = blocks(done.stderr)[0]
    assert first[0] == "tensorscope: first infinity: aten::div, step 0, backward pass"
    assert "in the backward of SqrtBackward0" in first[2]
    done = find_nan("forward", tmp_path, mode="stop", program="cpp_nan")
    assert done.returncode == ENDED and "end" not in done.stdout


def test_without_being_asked_nothing_is_looked_at(tmp_path):
    done = harness.run(PROGRAM, "log", folder=tmp_path, exit="never")
    # From CPython 3.14 on torch.jit.script() warns.
    assert (done.returncode, done.stderr) == (0, alone("log").stderr)


FORKS = """
import os, sys, torch
def mark(text):
    os.write(2, (text + "\\n").encode())
def child(work):
    if os.fork() == 0:
        work()
        sys.exit(0)
    os.wait()
    mark("-- next")
def divide():
    torch.ones(10) * 2
    return torch.zeros(2) / torch.zeros(2)
def nothing_bad():
    torch.ones(10) * 2
for _ in range(3):
    gone = torch.full((2000,), float("nan"))
    del gone
    torch.empty(2000) * 2  # reads memory that nobody has written
torch.log(torch.full((2,), -1.0))
torch.zeros(3) / torch.zeros(3)
mark("-- next")
child(divide)
torch.log(torch.full((2,), -1.0))
child(divide)
child(nothing_bad)
"""


def test_a_forked_child_says_what_it_did_itself(tmp_path):
    done = harness.run_source(FORKS, folder=tmp_path, find_nan="on", exit="never", quiet=1)
    assert done.returncode == 0, done.stderr
    before, first, second, third, after = done.stderr.split("-- next\n")
    assert "first NaN: aten::log" in before and "2 later origins" in after
    for child in (first, second):
        assert "first NaN: aten::div" in child and "divide" in child and "aten::log" not in child
        assert re.search(r"found, see above; 0 later origins, \d+ operations checked$", child.rstrip()), child
    assert first.splitlines()[-1] == second.splitlines()[-1]
    assert re.fullmatch(r"tensorscope: --find-nan: no NaN or infinity made by \d+ operations\n", third)
