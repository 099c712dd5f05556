# SPDX-License-Identifier: Apache-2.0
"""Models of real libraries under --watch, --calls, --find-nan and `compare`: each value is what hooks of the program itself saw, bit for bit."""

# Covers: preload/watch/module_values.cc preload/torch_events/{module_calls,steps}.cc
# Covers: preload/values_file/{value_store,value_batch,value_writer}.cc preload/tensor_values/tensor_view.cc
# Covers: preload/find_nan/find_nan.cc preload/python/tensors_inside.cc

import functools
import json
import re

import harness
import pytest
import torch
import values_reader
from values_reader import BACKWARD

pytest.importorskip("flatbuffers")

PACKAGES = {"gpt2": "transformers", "bert": "transformers", "lightning": "lightning", "lstm": "torch"}
WATCH = "full:model.**,full:gradients:model.**"


@functools.cache
def without(kind):
    return harness.run("watch_real.py", kind, preload=False).stdout


@pytest.fixture(scope="module", params=PACKAGES)
def recorded(request, tmp_path_factory):
    """Kind, the finished program, its values and what its own hooks saw."""
    harness.needs_package(PACKAGES[request.param])
    folder = tmp_path_factory.mktemp(request.param)
    done = harness.run("watch_real.py", request.param, folder=folder, exit="never", watch=WATCH, calls=1)
    assert done.returncode == 0, done.stderr
    return request.param, done, values_reader.read(folder), torch.load(folder / "truth.pt")


@pytest.mark.cases(2)
def test_the_program_is_as_without(recorded):
    kind, done, values, _ = recorded
    assert done.stdout == without(kind) and done.stdout
    assert values.ended and not values.losses and not values.unmatched


@pytest.mark.cases(2)
def test_what_each_module_returned(recorded):
    kind, _, values, truth = recorded
    mine = iter(value for value in values.values if not value.name.endswith(".grad"))
    seen = set()
    for module, step, tensors in truth["outputs"]:
        for tensor in tensors:
            value = next(mine)
            assert (value.module, value.step) == (module, step) and value.name.startswith(module)
            assert values.tensor(value).dtype == tensor.dtype and torch.equal(values.tensor(value), tensor), value.name
            seen.add(value.name)
    assert next(mine, None) is None
    if kind == "gpt2":
        assert {"model.transformer.h.2.attn[0]", "model.transformer.h.0.mlp.act"} <= seen
        assert any(re.fullmatch(r"model(\.|\[')logits('\])?", name) for name in seen)
    if kind == "lstm":
        assert {"model.packed[0].data", "model.packed[0].batch_sizes", "model.packed[1][0]", "model.padded[1][1]", "model.cell[0]"} <= seen
        assert [value.index for value in values.named("model.cell[1]") if value.step == 0] == list(range(6))


@pytest.mark.cases(2)
def test_gradients_are_those_of_each_step(recorded):
    _, _, values, truth = recorded
    mine = {(value.name, value.step): value for value in values.values if value.name.endswith(".grad")}
    assert truth["gradients"] and len(mine) == len(truth["gradients"])
    for name, step, tensor in truth["gradients"]:
        assert torch.equal(values.tensor(mine[name, step]), tensor), (name, step)


@pytest.mark.cases(2)
def test_calls_begin_in_the_programs_order(recorded):
    _, _, values, truth = recorded
    calls = sorted((call for call in values.calls if not call.flags & BACKWARD), key=lambda call: call.id)
    calls = [call for call in calls if call.module.split(".")[0] == "model"]  # BERT makes a module for its loss in each forward
    assert [(call.module, call.step) for call in calls] == truth["order"]
    backward = [call for call in values.calls if call.flags & BACKWARD and call.module.split(".")[0] == "model"]
    forward = {call.id: call for call in calls}
    assert backward and all(forward[call.parent].module == call.module for call in backward)


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", PACKAGES)
def test_nothing_that_is_not_finite_is_found(kind, tmp_path):
    harness.needs_package(PACKAGES[kind])
    done = harness.run("watch_real.py", kind, folder=tmp_path, exit="never", find_nan=1)
    assert done.returncode == 0 and "--find-nan: no NaN or infinity made by " in done.stderr, done.stderr
    assert done.stdout == without(kind)


SEVERAL = "full:gpt2.**,full:bert.**"


def several(folder, kind, watch=SEVERAL):
    folder.mkdir()
    done = harness.run("watch_real.py", "several", kind, folder=folder, exit="never", watch=watch)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.values")
    return path


def answer(*arguments):
    done = harness.cli("compare", *arguments, "--json", status=None)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def float32(tmp_path_factory):
    harness.needs_package("transformers")
    return several(tmp_path_factory.mktemp("several") / "float32", "float32")


def test_autocast_against_float32(float32, tmp_path):
    """Two models in one process: what one bfloat16 run rounds is within the tolerance of its dtype, and not within float32's."""
    other = several(tmp_path / "autocast", "autocast")
    found = answer(float32, other)
    assert found["equal"], found["summary"]
    assert ("float32", "bfloat16") in {(pair["a"], pair["b"]) for pair in found["dtypes"]}
    values = values_reader.Values(float32)
    assert found["compared"] == len(values.values) and {value.name.split(".")[0] for value in values.values} == {"gpt2", "bert"}
    exact = answer(float32, other, "--rtol", "1e-5", "--atol", "1e-8")
    assert not exact["equal"] and (exact["first"]["step"], exact["first"]["name"]) == (0, "gpt2.transformer.h.0.attn.c_attn")


def test_one_changed_layer_of_one_of_two_models(float32, tmp_path):
    found = answer(float32, several(tmp_path / "layer", "layer"))
    assert not found["equal"]
    assert (found["first"]["step"], found["first"]["name"]) == (0, "gpt2.transformer.h.1.mlp.c_fc")


def test_a_nan_is_found_at_its_origin(tmp_path):
    harness.needs_package("transformers")
    done = harness.run("watch_real.py", "several", "nan", folder=tmp_path, exit="never", find_nan=1)
    assert done.returncode == 0, done.stderr
    text = (harness.PROGRAMS / "watch_real.py").read_text().splitlines()
    line = next(number for number, each in enumerate(text, 1) if each.endswith("# here: act"))
    first = done.stderr[done.stderr.index("tensorscope: first "):].splitlines()
    assert first[0] == "tensorscope: first NaN: aten::log, step 1, forward pass"
    assert re.fullmatch(rf"  at \S*watch_real\.py:{line} several\.<locals>\.<lambda>", first[1]), first[1]
    assert first[2].startswith("  module: gpt2.transformer.h.1.mlp.act")
