# SPDX-License-Identifier: Apache-2.0
"""Ways in which torch runs modules that are not plain: under --watch, --calls and --find-nan the program prints what it prints without, and what
cannot be seen is said."""

# Covers: preload/watch/{watch,watched_calls,module_paths}.cc preload/tensor_values/tensor_view.cc

import functools
import subprocess

import harness
import pytest
import torch
import values_reader
from values_reader import BACKWARD, ELEMENTS, NOT_READ, RAISED

pytest.importorskip("flatbuffers")

PROGRAM = "watch_modes.py"
# Also operations, gradients and a variable, so that each way of recording is there.
WATCH = "full:**,full:op:**.layers.0,full:gradients:**,full:parameters:**,watch_modes.py:train:loss"
NEEDS = {"vmap": "torch.func", "fully_shard": "from torch.distributed.fsdp import fully_shard", "compiled": "torch._dynamo"}
MODES = ["inference", "no_grad", "autocast", "vmap", "reentrant", "checkpointed", "ddp", "fsdp", "fully_shard", "compiled", "workers", "threads"]
LAYERS = [f"layers.{i}{part}" for i in range(3) for part in (".fc", ".drop", "")] + ["head"]


@functools.cache
def without(mode):
    if mode in NEEDS:
        code = NEEDS[mode] if " " in NEEDS[mode] else f"import {NEEDS[mode]}"
        if subprocess.run([harness.PYTHON, "-c", f"import torch; {code}"], capture_output=True).returncode:
            pytest.skip(f"this torch has no {mode}")
    done = harness.run(PROGRAM, mode, preload=False)
    assert done.returncode == 0 and done.stdout, done.stderr
    return done


@pytest.fixture(scope="module", params=MODES)
def run(request, tmp_path_factory):
    plain = without(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    done = harness.run(PROGRAM, request.param, folder=folder, exit="never", watch=WATCH, calls=1)
    assert done.returncode == 0, done.stderr
    return request.param, plain, done, folder


@pytest.mark.cases(6)
def test_the_program_is_as_without(run):
    _, plain, done, _ = run
    assert done.stdout == plain.stdout
    assert [line for line in done.stderr.splitlines() if not line.startswith("tensorscope: wrote ")] == plain.stderr.splitlines()


@pytest.mark.cases(3)
@pytest.mark.parametrize("mode", MODES)
def test_with_find_nan_too(mode, tmp_path):
    plain = without(mode)
    done = harness.run(PROGRAM, mode, folder=tmp_path, exit="never", find_nan=1)
    assert done.returncode == 0 and done.stdout == plain.stdout
    assert "no NaN or infinity made" in done.stderr, done.stderr


def main_file(folder):
    return max((values_reader.Values(path) for path in folder.glob("*.values")), key=lambda values: len(values.values))


@pytest.mark.cases(6)
def test_what_is_recorded_and_what_is_said(run):
    mode, _, _, folder = run
    values = main_file(folder)
    assert values.ended
    outputs = [value for value in values.values if value.name == value.module]
    names = {value.name for value in outputs}
    forward = [call for call in values.calls if not call.flags & BACKWARD]
    if mode == "vmap":
        assert all(value.flags & NOT_READ and value.note == "a tensor subclass, or inside vmap or tracing" for value in outputs)
        assert values.losses["elements", "a tensor subclass, or inside vmap or tracing"] >= len(outputs) > 0
        return
    assert all(value.flags & ELEMENTS for value in outputs)
    if mode == "ddp":
        assert {"runs", "runs.module", *("runs.module." + name for name in LAYERS)} == names
    elif mode == "fsdp":
        assert {"model", "model._fsdp_wrapped_module", *("model._fsdp_wrapped_module." + name for name in LAYERS)} == names
    elif mode == "compiled":
        inside = {"model.layers.1.fc", "model.layers.1.drop"}
        assert {"model", *("model." + name for name in LAYERS)} - inside == names
        assert values.losses["modules", "inside what torch.compile() compiled"] > 0
    else:
        assert {"model", *("model." + name for name in LAYERS)} <= names
    if mode == "autocast":
        dtypes = {values.tensor(value).dtype for value in outputs if value.name == "model.layers.0.fc"}
        assert dtypes == {torch.bfloat16} and values.named("model.layers.0.fc.weight.grad")
    if mode in ("reentrant", "checkpointed"):  # computed a second time
        for step in range(2):
            first, second = [values.tensor(value) for value in outputs if (value.name, value.step) == ("model.layers.1.fc", step)]
            assert torch.equal(first, second)
        assert [call.index for call in forward if (call.module, call.step) == ("model.layers.1.fc", 0)] == [0, 1]
        assert {getattr(call, "pass") for call in forward} == {0, 1}  # what is computed again belongs to the pass that it was in
        assert harness.torch_version() < (2, 1) or not any(call.flags & RAISED for call in forward)
    if mode == "threads":
        assert len({call.thread for call in forward}) == 4 and len([call for call in forward if call.module == "model"]) == 80
        assert all(call.parent == 0 for call in forward if call.module == "model")
        by_id = {call.id: call for call in forward}
        assert all(by_id[call.parent].thread == call.thread for call in forward if call.parent)
    if mode == "fully_shard":
        parameters = values.named("model.head.weight")
        assert parameters and all(value.flags & NOT_READ for value in parameters)  # a DTensor
