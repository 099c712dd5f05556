# SPDX-License-Identifier: Apache-2.0
"""Calls of modules are seen where the interpreter enters them, and nothing of it is seen by the program."""

# Covers: preload/python/module_entry.cc

import collections

import harness
import pytest
import torch

pytest.importorskip("flatbuffers")

import values_reader
from values_reader import BACKWARD, RAISED


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("entry")
    done = harness.run("module_entry.py", folder=folder, exit="never", watch="full:root.*,full:inputs:root.*", calls=1)
    assert done.returncode == 0, done.stderr
    return done, values_reader.read(folder)


def outputs(values, name):
    return [values.tensor(value) for value in values.named(name)]


def test_the_program_is_as_without(seen, tmp_path):
    plain = harness.run("module_entry.py", folder=tmp_path, preload=False)
    assert plain.returncode == 0, plain.stderr
    assert seen[0].stdout == plain.stdout and plain.stdout.endswith("ends\n")
    assert harness.program_stderr(seen[0]) == harness.program_stderr(plain)


def test_each_call_is_there_once(seen):
    counts = collections.Counter(call.module for call in seen[1].calls if not call.flags & BACKWARD)
    assert {name: counts["root." + name] for name in "plain own_call mixed recursive interrupted hooked compiled".split()} == {
        "plain": 3, "own_call": 1, "mixed": 1, "recursive": 3, "interrupted": 1, "hooked": 1, "compiled": 1}
    assert counts["root"] == 1
    by_id = {call.id: call for call in seen[1].calls}
    inner = [call for call in seen[1].calls if call.module == "root.recursive"]
    assert sorted(by_id[call.parent].module for call in inner) == ["root", "root.recursive", "root.recursive"]


def test_what_raised(seen):
    assert {call.module: call.flags for call in seen[1].calls if call.flags & ~BACKWARD} == {"root.interrupted": RAISED}


def test_values_are_those_of_the_caller(seen):
    """Before the module's own hooks changed what it was given, and after they changed what it returned."""
    values = seen[1]
    (given,), (returned,) = outputs(values, "root.hooked(in)[0]"), outputs(values, "root.hooked")
    assert torch.equal(returned, given + 100.5)
    (own,), (own_given,) = outputs(values, "root.own_call"), outputs(values, "root.own_call(in)[0]")
    assert torch.equal(own, own_given * 2)  # of _call_impl, within its __call__
    assert values.named("root.plain(in)['extra']['mask']") and len(values.named("root.plain(in)['x']")) == 1


def test_compiled_and_exported_modules_are_seen_at_their_border(seen):
    names = {call.module for call in seen[1].calls}
    if harness.torch_version() >= (2, 5):  # before, the code that torch.compile made calls them
        assert not {name for name in names if name.startswith("root.compiled.")}
    assert outputs(seen[1], "root.compiled")
    assert len([call for call in seen[1].calls if call.module == "root.mixed"]) == 1  # none with fake tensors


def test_a_module_class_of_another_kind_is_said(tmp_path):
    """Where Module._call_impl is no function of Python, no call is recorded, the file says so, and the program goes on."""
    source = """
import importlib.machinery, sys
class Replacing(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "torch.nn.modules.module":
            return None
        spec = super().find_spec(name, path, target)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            original = module.Module._call_impl
            class Descriptor:
                def __get__(self, instance, owner=None):
                    return original.__get__(instance, owner)
            module.Module._call_impl = Descriptor()
        spec.loader.exec_module = exec_module
        return spec
sys.meta_path.insert(0, Replacing)
import torch
layer = torch.nn.Linear(2, 2)
print(layer(torch.ones(2)).shape)
"""
    done = harness.run_source(source, folder=tmp_path, exit="never", watch="full:layer", calls=1)
    assert done.returncode == 0 and done.stdout == "torch.Size([2])\n", done.stderr
    values = values_reader.read(tmp_path)
    assert not values.calls and values.losses["calls", "torch.nn.Module has other functions than were known"] == 1
