# SPDX-License-Identifier: Apache-2.0
"""What the profiler runs in a program is not seen by what the program has to see operations and functions with."""

# Covers: preload/torch/unrecorded.cc
# Covers: preload/python/unseen_work.cc

import json
import re

import pytest

import harness

# Python of ours that runs on the program's thread, and why it is seen: docs/limits.md.
OF_THE_OPTIMIZER = {"tensorscope_step_begins", "tensorscope_step_ends", "tensorscope_is_compiling", "tensorscope_computes_gradients", "<genexpr>"}
AROUND_CALLBACKS = {"<listcomp>", *re.findall(r"def (\w+)", (harness.ROOT / "preload/watch/callbacks.py").read_text())}

CALLBACK = """
import torch
def twice(name, value, step):
    with open("called", "a") as file:
        file.write("x")
    return torch.add(value, torch.ones_like(value))
"""
WATCHES = "[[watch]]\npath = 'model.0'\npre_save = 'callback.py:twice'\n[[watch]]\npath = '**'\n"


def what_is_seen(folder, **options):
    done = harness.run("sees_operations.py", folder=folder, exit="never", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    return what_is_seen(tmp_path_factory.mktemp("without"), preload=False)


@pytest.mark.parametrize("how", ["calls", "everything"])
def test_a_program_sees_its_own_operations_alone(how, without, tmp_path):
    harness.needs_torch(2, 2, "torch.profiler.ExecutionTraceObserver that can be asked by a program of ours")
    options = {"calls": 1}
    if how == "everything":
        (tmp_path / "callback.py").write_text(CALLBACK)
        (tmp_path / "watch.toml").write_text(WATCHES)
        options.update(watch=tmp_path / "watch.toml", watch_as_device=1, find_nan="on", record=1, module_outputs=1)
    seen = what_is_seen(tmp_path, **options)
    functions = seen.pop("functions")
    expected = {what: names for what, names in without.items() if what != "functions"}
    assert seen == expected
    if harness.asked("sys", "sys.version_info >= (3, 11)") == "True":  # before, Python has no function that hides others
        assert {*functions} <= OF_THE_OPTIMIZER | (AROUND_CALLBACKS if how == "everything" else set())
    if how == "everything":
        assert (tmp_path / "called").exists()
