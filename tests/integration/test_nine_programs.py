# SPDX-License-Identifier: Apache-2.0
"""Nine kinds of programs that nobody here wrote: every byte of them has a category, and what torch itself knows has the right one."""

# Covers: analyzer/symbols/native_facts.cc

import collections

import harness
import pytest

MOST_UNKNOWN = 0.02
# program, arguments, the package it needs besides torch, its dumps, and what must be among the categories of one of them
PROGRAMS = {
    "trainer": ("nine_training.py", "accelerate", ["backward", "step"], {"dataset", "backward temporary"}),
    "lightning": ("nine_training.py", "lightning", ["backward", "step"], {"dataset", "optimizer state"}),
    "diffusion": ("nine_training.py", None, ["forward", "backward", "step"], {"container", "saved activation", "variable"}),
    "compile": ("nine_training.py", None, ["forward", "step"], {"saved activation", "optimizer state"}),
    "ppo": ("nine_others.py", None, ["rollout", "round0", "round1"], {"container", "variable"}),
    "generation": ("nine_others.py", "transformers", ["generate", "after"], {"KV cache"}),
    "ddp": ("nine_others.py", None, ["backward0", "forward0", "step0", "step1"], {"communication bucket"}),
    "workers": ("nine_others.py", None, ["inside-worker", "step"], {"dataset", "input batch"}),
    "cpp": ("nine_cpp", None, ["forward", "step"], {"optimizer state", "buffer", "saved activation"}),
}


def run(kind, folder):
    program, package, dumps, _ = PROGRAMS[kind]
    if package:
        harness.needs_package(package)
    if kind == "cpp":
        harness.needs_build_against_this_torch()
    done = harness.run(program, *([] if kind == "cpp" else [kind]), folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    found = {}
    for name in dumps:
        known = harness.truth(folder, name)
        found[name] = known, harness.load(known["dump"])
    return found


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request, tmp_path_factory):
    return request.param, run(request.param, tmp_path_factory.mktemp(request.param))


def storages(exported):
    """Each storage with memory, with its category."""
    category = {tensor["id"]: tensor["category"] for tensor in exported["tensors"]}
    for storage in exported["storages"]:
        if storage["nbytes"] and storage["data_ptr"]:
            (one,) = {category[tensor] for tensor in storage["tensors"]}
            yield storage, one


@pytest.mark.cases(3)
def test_at_most_two_percent_are_unknown(program):
    _, dumps = program
    for name, (_, exported) in dumps.items():
        sums = collections.Counter()
        for storage, category in storages(exported):
            sums[category] += storage["own_nbytes"]
        assert sums["unknown"] <= MOST_UNKNOWN * sum(sums.values()), (name, sums)


@pytest.mark.cases(3)
def test_what_torch_knows_has_its_category(program):
    kind, dumps = program
    for name, (known, exported) in dumps.items():
        found = {storage["data_ptr"]: (storage["nbytes"], category) for storage, category in storages(exported)}
        for pointer, (category, nbytes) in known["storages"].items():
            assert int(pointer) in found, (name, category, nbytes)
            size, said = found[int(pointer)]
            assert size == nbytes
            if category in ("container", "variable"):  # a graph that uses it says more, as long as it is there
                assert said in (category, "input batch"), (kind, name, category, said, nbytes)
            else:
                assert said == category, (kind, name, category, said, nbytes)


@pytest.mark.cases(3)
def test_nothing_else_is_said_to_be_a_parameter_or_what_belongs_to_one(program):
    _, dumps = program
    for name, (known, exported) in dumps.items():
        if name.endswith("worker") or name in ("generate", "after"):
            continue
        known = {int(pointer) for pointer in known["storages"]}
        for storage, category in storages(exported):
            if category in ("parameter", "gradient", "optimizer state"):
                assert storage["data_ptr"] in known, (name, storage, category)


@pytest.mark.cases(3)
def test_totals_are_those_of_the_allocator(program):
    _, dumps = program
    for _, exported in dumps.values():
        (cpu,) = [row for row in exported["totals"]["devices"] if row["device"] == "cpu"]
        assert sum(row["nbytes"] for row in exported["allocations"] if row["device"] == "cpu") == cpu["live_bytes"]


@pytest.mark.cases(3)
def test_the_words_of_its_kind_are_used(program):
    kind, dumps = program
    used = {tensor["category"] for _, exported in dumps.values() for tensor in exported["tensors"]}
    assert PROGRAMS[kind][3] <= used
