# SPDX-License-Identifier: Apache-2.0
"""Random programs of tensor operations against their dumps and recordings: thirty of the thousand of scripts/endurance (tests/random_programs)."""

import copy
import json
import sys

import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "tests" / "random_programs"))
import compare
import fuzz
import statements

SEEDS = range(1, 31)


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """The folder of a run of all programs in one process, and what differs in each."""
    harness.needs_torch(2, 13, "what the random programs use")
    harness.needs_gil("Python stacks")
    folder = tmp_path_factory.mktemp("random") / "batch"
    different = {}
    fuzz.run_seeds(folder, SEEDS, different.__setitem__)
    return folder, different


def test_dumps_and_recordings_are_what_the_programs_know(batch):
    _, different = batch
    assert list(different) == list(SEEDS)
    assert {seed: lines for seed, lines in different.items() if lines} == {}


@pytest.fixture(scope="module")
def a_look(batch):
    """A look at some tensors, at the beginning of which there was nothing, and the dump that was made."""
    looks = [json.loads(line) for line in (batch[0] / "truth.jsonl").read_text().splitlines()]
    looks = [look for look in looks if look["kind"] == "call" and not look["churn"]]
    look = max(looks, key=lambda look: len([row for row in look["tensors"] if row.get("storage", [0])[0]]))
    return fuzz.exported(look["dump"]), look


def changed_row(field, value):
    def change(exported, look):
        address = next(row["address"] for row in look["tensors"] if row.get("storage", [0])[0])
        next(tensor for tensor in exported["tensors"] if tensor["address"] == address)[field] = value
    return change


def without_a_tensor(exported, look):
    addresses = {row["address"] for row in look["tensors"]}
    exported["tensors"] = [tensor for tensor in exported["tensors"] if tensor["address"] != min(addresses)]


def with_another_tensor(exported, look):
    exported["tensors"].append({**exported["tensors"][0], "id": 1 << 40, "address": 1, "holders": [], "shape": [2]})


def without_an_allocation(exported, look):
    pointers = {row["storage"][0] for row in look["tensors"] if "storage" in row} - set(look["foreign"])
    exported["allocations"] = [block for block in exported["allocations"] if block["pointer"] != max(pointers)]


def with_another_allocation(exported, look):
    exported["allocations"].append({"id": 1 << 40, "pointer": 64, "nbytes": 8, "storages": []})


def with_more_bytes(exported, look):
    pointers = {row["storage"][0] for row in look["tensors"] if "storage" in row}
    next(block for block in exported["allocations"] if block["pointer"] in pointers)["nbytes"] += 1


def with_another_total(exported, look):
    exported["totals"]["devices"][0]["live_bytes"] += 1


@pytest.mark.parametrize("change", [
    *[changed_row(field, value) for field, value in {
        "shape": [99], "strides": [99], "dtype": "int8", "device": "meta", "layout": "sparse_coo", "requires_grad": None, "is_leaf": None,
        "storage_offset": 99, "is_view": None, "version": 999, "storage": None}.items()],
    without_a_tensor, with_another_tensor, without_an_allocation, with_another_allocation, with_more_bytes, with_another_total])
def test_each_fact_that_is_altered_is_a_difference(change, a_look):
    exported, look = copy.deepcopy(a_look)
    before = set()
    already = compare.differences(exported, look, before, [])
    change(exported, look)
    assert set(compare.differences(exported, look, before, [])) - set(already)


def test_what_lasted_while_a_dump_was_written_is_compared(a_look):
    exported, look = copy.deepcopy(a_look)
    lives = [{"address": row["address"], "states": [[0, row]], "gone": None} for row in look["tensors"]]
    meanwhile = {"step": 0, "until": 5}
    assert compare.lasting_differences(exported, meanwhile, lives) == []
    changed_row("shape", [99])(exported, look)
    assert any("shape: [99]" in line for line in compare.lasting_differences(exported, meanwhile, lives))
    assert compare.lasting_differences(exported, meanwhile, [{**life, "gone": 3} for life in lives]) == []
    assert compare.lasting_differences(exported, meanwhile, [{**life, "states": [*life["states"], [2, {}]]} for life in lives]) == []


def test_a_program_is_its_seed_and_any_part_of_it_is_a_program():
    program = statements.Generator(7).program()
    assert program == statements.Generator(7).program() != statements.Generator(8).program()
    for line in program:
        compile(line, "statement", "exec")


def test_a_program_that_differs_is_made_smaller(monkeypatch, tmp_path):
    def first(folder, programs):
        return next(((lines, ["a difference"]) for lines in programs if "wrong" in lines and "also" in lines), None)
    monkeypatch.setattr(fuzz, "first_that_differs", first)
    assert fuzz.smaller(tmp_path, [*"abcdef", "wrong", *"ghi", "also", "j"]) == ["wrong", "also"]
