# SPDX-License-Identifier: Apache-2.0
"""`tensorscope graph` on real graphs, against the program's own walk over next_functions."""

import json
import shutil

import harness
import pytest


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    done = harness.run("graph_questions.py", folder=folder, quiet=1)
    assert done.returncode == 0, done.stderr
    return harness.truth(folder)


def answer(asked, *arguments, status=0):
    return json.loads(harness.cli("graph", asked["dump"], *arguments, "--format", "json", "--no-symbols", status=status).stdout)


@pytest.mark.parametrize("name", ["losses[0]", "losses[4]", "freed", "encoded", "squared", "view", "doubled", "chain"])
def test_leaves_paths_and_steps(asked, name):
    known = asked["roots"][name]
    found = answer(asked, "--of", name)
    assert found["nodes"][0]["class"] == known["root"]
    assert found["operations"] == known["operations"]
    addresses = {tensor["id"]: str(tensor["address"]) for tensor in harness.load(asked["dump"])["tensors"]}
    leaves = {addresses[leaf["tensor"]["id"]]: [leaf["paths"], leaf["steps"]] for leaf in found["leaves"]}
    assert leaves == known["leaves"]
    for leaf in found["leaves"]:
        assert len(leaf["path"]) == leaf["steps"] + 1 and leaf["path"][0] == found["node"]


def test_what_a_graph_keeps(asked):
    kept = answer(asked, "--keeps", "losses[0]")
    assert kept["only_bytes"] == asked["sizes"]["kept_by_loss"]
    names = {row["tensor"]["name"] for row in kept["storages"] if not row["only"]}
    assert {"model.fc1.weight", "model.fc2.weight", "model.norm.weight"} <= names
    assert answer(asked, "--keeps", "freed")["only_bytes"] == 0


def test_paths_both_ways(asked):
    for pair in (("model.fc1.weight", "losses[1]"), ("losses[1]", "model.fc1.weight"), ("view", "squared")):
        found = answer(asked, "--path", *pair)
        assert found["found"] and found["output"] == answer(asked, "--of", pair[1 if "weight" in pair[0] else 0])["tensors"][0]["id"]
    assert not answer(asked, "--path", "losses[0]", "weight", status=1)["found"]
    assert answer(asked, "--path", "chain", "weight")["steps"] == 5000


def test_a_freed_graph_says_so(asked):
    text = harness.cli("graph", asked["dump"], "--of", "freed").stdout
    assert text.count("buffers freed") >= 4 and "leaves" in text
    assert "buffers freed" not in harness.cli("graph", asked["dump"], "--of", "losses[0]").stdout


def test_a_view_says_of_what(asked):
    assert "view of" in harness.cli("graph", asked["dump"], "--of", "view").stdout
    assert "style=dotted" in harness.cli("graph", asked["dump"], "--of", "view", "--format", "dot").stdout


def test_layers_are_drawn_once(asked):
    drawing = answer(asked, "--of", "encoded")["drawing"]
    assert len(drawing["boxes"]) <= 60
    boxes = {box["title"]: box for box in drawing["boxes"]}
    merged = boxes["encoder.layers.*.self_attn"]
    assert merged["calls"] == 11 and merged["indices"] == ["1..11"]  # the first has an input that needs no gradient
    assert "encoder.layers.0.self_attn" in boxes
    nodes = [node for box in drawing["boxes"] for node in box["nodes"] + box["leaves"]]
    known = asked["roots"]["encoded"]
    assert len(nodes) == len(set(nodes)) == known["operations"] + len(known["leaves"])


def test_a_tensor_without_a_name_has_neighbours(asked):
    tensors = harness.load(asked["dump"])["tensors"]
    unnamed = next(tensor for tensor in tensors if tensor["grad_fn"] == "ReluBackward0")
    near = answer(asked, "--near", str(unnamed["id"]))
    assert any(".out" in relative["name"] for relative in near["used_for"])
    assert {relative["name"] for relative in near["made_from"]} & {"model.fc1.out", "model.fc1.bias"}


def test_overview(asked):
    found = answer(asked)
    losses = next(group for group in found["groups"] if any("losses" in name for name in group["names"]))
    assert losses["graphs"] == 5 and losses["only_bytes"] == 5 * asked["sizes"]["kept_by_loss"]
    assert found["complete"]


def test_a_program_without_python(tmp_path):
    harness.needs_build_against_this_torch()
    done = harness.run("cpp_program", "exit", folder=tmp_path, quiet=1)
    dump = harness.dumps(tmp_path)[-1]
    loss = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("loss"))
    tensor = harness.by_address(harness.load(dump))[int(loss)]
    found = json.loads(harness.cli("graph", dump, "--of", tensor["id"], "--format", "json").stdout)
    assert found["nodes"][0]["class"] == "MeanBackward0" and len(found["leaves"]) == 4
    assert "cpp_program" in found["nodes"][0]["where"] and found["freed_nodes"] == 4
    assert not json.loads(harness.cli("graph", dump, "--format", "json").stdout)["keeps"]["certain"]


def test_graphviz_draws_what_is_written(asked, tmp_path):
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    for ending, begin in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        harness.cli("graph", asked["dump"], "--of", "encoded", "-o", tmp_path / f"graph.{ending}")
        assert (tmp_path / f"graph.{ending}").read_bytes().startswith(begin)
