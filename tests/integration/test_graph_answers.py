# SPDX-License-Identifier: Apache-2.0
"""`tensorscope graph` where the right answer is about a tensor and not about its node, on programs of these kinds."""
# Covers: preload/torch/graph/function_classes.cc

import json
import os

import harness
import pytest


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    done = harness.run("graph_answers.py", folder=folder, quiet=1)
    assert done.returncode == 0, done.stderr
    return harness.truth(folder)


def text(dump, *arguments, status=0):
    wide = {**os.environ, "COLUMNS": "300"}
    return harness.cli("graph", dump, *arguments, "--no-symbols", status=status, env=wide).stdout


def answer(dump, *arguments, status=0):
    return json.loads(text(dump, *arguments, "--format", "json", status=status))


def test_a_graph_keeps_what_a_ctx_holds(asked):
    kept = answer(asked["dump"], "--keeps", "scaled")
    slots = {row["slot"]: row for row in kept["storages"]}
    assert slots["ctx.cache"]["bytes"] == 4 << 20 and slots["ctx.cache"]["only"]
    assert slots["ctx.extra['list'][0]"]["bytes"] == 2 << 20
    assert kept["only_bytes"] == 6 << 20 and kept["bytes"] == (6 << 20) + 16
    assert "ctx.cache of ScaleBackward" in text(asked["dump"], "--keeps", "scaled")


def test_a_function_is_called_by_its_class(asked):
    assert answer(asked["dump"], "--of", "bare")["nodes"][0]["class"] == "BareBackward"
    by_name = {row["names"][0]: row for row in harness.load(asked["dump"])["tensors"] if row["names"]}
    assert by_name["bare (local of main)"]["grad_fn"] == "BareBackward"


def test_a_path_goes_through_the_output_that_was_used(asked):
    dump = asked["dump"]
    found = answer(dump, "--path", "first", "from_first")
    assert found["found"] and found["outputs"][-1] == asked["outputs"]["first"] == 0
    assert answer(dump, "--path", "third", "from_third")["outputs"][-1] == asked["outputs"]["third"] == 2
    for pair in (("second", "from_first"), ("first", "from_third"), ("first", "second"), ("hidden", "from_cell"),
                 ("cell", "from_outputs"), ("hidden", "cell")):
        assert not answer(dump, "--path", *pair, status=1)["found"], pair
    assert answer(dump, "--path", "cell", "from_cell")["found"]
    assert "both are outputs of one SplitBackward0" in text(dump, "--path", "first", "second", status=1)
    table = text(dump, "--path", "trunk", "from_third")
    assert "third" in table and "first" not in table


def test_neighbours_are_those_of_the_output(asked):
    near = answer(asked["dump"], "--near", "second")
    assert near["used_for"] == []
    assert [row["name"] for row in near["made_from"]] == ["trunk (local of main)"]
    near = answer(asked["dump"], "--near", "from_first")
    assert [row["name"] for row in near["made_from"]] == ["first (local of main)"]
    near = answer(asked["dump"], "--near", "from_row")
    assert [row["name"] for row in near["made_from"]] == ["rows[1] (local of main)"]


def test_no_relative_is_listed_twice(asked):
    of = text(asked["dump"], "--of", "first")
    assert of.count("view of ") == 1 and of.count("view base") == 1
    near = text(asked["dump"], "--near", "first")
    ids = [word for line in near.splitlines()[1:] for word in line.split() if word.startswith("#")]
    assert len(ids) == len(set(ids)), near


def test_an_input_that_needs_no_gradient(asked):
    found = answer(asked["dump"], "--path", "data", "loss")
    assert found["found"] and found["saved_as"] == "self" and found["nodes"][-1]["class"] == "MmBackward0"
    assert answer(asked["dump"], "--path", "loss", "data") ["input"] == found["input"]
    words = text(asked["dump"], "--path", "data", "loss")
    assert "was computed with" in words and "neither" not in words
    words = text(asked["dump"], "--path", "apart", "loss", status=1)
    assert "does not require grad" in words and "neither was computed" not in words
    assert "neither was computed from the other" in text(asked["dump"], "--path", "loss", "other_loss", status=1)


def test_a_leaf_without_a_name(asked):
    dump = asked["dump"]
    for words in (text(dump, "--of", "unnamed"), text(dump, "--keeps", "unnamed"), harness.cli("list", dump, "--limit", 0, status=None).stdout):
        assert "AccumulateGrad.saved" not in words
    assert not any("AccumulateGrad" in name for row in harness.load(dump)["tensors"] for name in row["names"])
    assert "graph_answers.py" in next(line for line in text(dump, "--of", "unnamed").splitlines() if "[7]" in line)


def test_leaves_are_no_saved_slots(asked):
    kept = answer(asked["dump"], "--keeps", "other_loss")
    assert kept["held_slots"] == 0 and kept["leaves"] == 1
    assert "0 saved slots of 1 operation, 1 leaf" in text(asked["dump"], "--keeps", "other_loss")


def test_several_at_once(asked):
    found = answer(asked["dump"], "--of", "from_first", "from_third", "other_loss")
    assert len(found["asked"]) == 3
    names = {leaf["tensor"]["name"] for leaf in found["leaves"]}
    assert names == {"base (local of main)", "other (local of main)"}
    boxes = [box for box in found["drawing"]["boxes"] if box["kind"] == "output"]
    assert len(boxes) == 3
    words = text(asked["dump"], "--of", "from_first", "other_loss")
    assert "together" in words and words.count("came out of") == 2


@pytest.fixture(scope="module")
def nameless(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nameless")
    done = harness.run("graph_answers.py", folder=folder, quiet=1, names=0)
    assert done.returncode == 0, done.stderr
    return harness.truth(folder)["dump"]


def test_without_names_it_says_what_was_not_looked_at(nameless):
    failed = harness.cli("graph", nameless, "--of", "loss", status=2)
    assert "names were not looked up" in failed.stderr and "TENSORSCOPE_NAMES" in failed.stderr
    assert "no live tensor" not in failed.stderr
    overview = text(nameless)
    assert "names were not looked up" in overview
    exported = harness.load(nameless)
    holders = [holder for row in exported["tensors"] for holder in row.get("held_by", [])]
    assert not any("without a Python root" in json.dumps(holder) for holder in holders)
    assert "without a Python root" not in harness.cli("report", nameless, "--by", "holder").stdout
    assert answer(nameless, "--of", str(next(row["id"] for row in exported["tensors"] if row["grad_fn"] == "BareBackward")))["nodes"][0]["class"] == "BareBackward"
