# SPDX-License-Identifier: Apache-2.0
"""Where the saved tensors of a graph were freed, and how often a gradient was accumulated."""

# Covers: analyzer/autograd/graph_freed.cc

import json
import os

import harness
import pytest

LINES = "backward_lines.py"
WIDE = {**os.environ, "COLUMNS": "400"}


def exit_dump(program, folder):
    done = harness.run(program, folder=folder)
    assert done.returncode == 0, done.stderr
    return harness.dumps(folder)[0]


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    return exit_dump(LINES, tmp_path_factory.mktemp("lines"))


@pytest.fixture(scope="module")
def strays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strays")
    return exit_dump("strays.py", folder), harness.truth(folder, "versions")


def line_of(function):
    text = (harness.PROGRAMS / LINES).read_text().splitlines()
    return next(number for number, line in enumerate(text, 1) if line.endswith(f"# {function}"))


FREED = {"first": "one_step", "second": "another_step", "third": "by_grad", "fourth": "twice", "fifth": "custom",
         "sixth": "checkpointed"}


@pytest.mark.parametrize("loss", FREED)
def test_the_line_of_the_backward_that_freed_a_graph(lines, loss):
    harness.needs_torch(2, 0, "function that says which node runs")
    function = FREED[loss]
    where = f"{LINES}:{line_of(function)} {function}"
    found = json.loads(harness.cli("graph", lines, "--of", loss, "--format", "json", "--no-symbols").stdout)
    at = {row["freed_at"] for row in found["nodes"] if row["buffers_freed"]}
    assert {text.rsplit("/", 1)[-1] for text in at if text} == {where}
    assert sum(row["nodes"] for row in found["freed_by"]) == found["freed_nodes"] > 0
    text = harness.cli("graph", lines, "--of", loss, "--no-symbols", env=WIDE).stdout
    assert "with buffers freed, by the backward pass at " in text and where in text


def test_a_graph_that_is_not_freed_has_no_line(lines):
    found = json.loads(harness.cli("graph", lines, "--of", "seventh", "--format", "json", "--no-symbols").stdout)
    assert found["freed_by"] == [] and all(row["freed_at"] is None for row in found["nodes"])
    assert "freed" not in harness.cli("show", lines, "seventh").stdout


@harness.needs_fake_cuda
def test_a_graph_that_a_thread_of_the_engine_freed_is_given_to_no_line(tmp_path, monkeypatch):
    harness.use_fake_cuda(monkeypatch)
    done = harness.run(LINES, "cuda", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    dump = harness.dumps(tmp_path)[0]
    found = json.loads(harness.cli("graph", dump, "--of", "first", "--format", "json", "--no-symbols").stdout)
    assert found["freed_nodes"] > 0 and found["freed_by"] == [{"where": None, "nodes": found["freed_nodes"]}]


def test_show_says_where_it_was_freed(lines):
    harness.needs_torch(2, 0, "function that says which node runs")
    text = harness.cli("show", lines, "sixth", env=WIDE).stdout
    assert "buffers of ExpBackward0 freed, by the backward pass at " in text
    assert f"{LINES}:{line_of('checkpointed')} checkpointed" in text


def test_versions_are_torchs_own(strays):
    dump, truth = strays
    found = harness.by_address(harness.load(dump))
    assert {name: found[address]["version"] for name, (address, _) in truth.items()} == {
        name: version for name, (_, version) in truth.items()}
    assert truth["scale.grad"][1] == 4 and truth["changed"][1] == truth["view"][1] == 301


def test_how_often_a_stray_gradient_was_accumulated(strays):
    dump, truth = strays
    assert "accumulated at most 5 times (changed in place 4 times; zero_(), clipping and copies also count)" in harness.cli(
        "show", dump, "scale", env=WIDE).stdout
    assert "accumulated at most" in harness.cli("show", dump, "once", env=WIDE).stdout  # it was expanded, and so copied
    assert "accumulated" not in harness.cli("show", dump, "model.weight", env=WIDE).stdout
    table = harness.cli("list", dump, "--columns", "id,names,version", env=WIDE).stdout
    assert next(line for line in table.splitlines() if "changed" in line).split()[-1] == str(truth["changed"][1])


def test_leaks_says_it_of_the_stray_leaf(strays):
    dump, _ = strays
    found = json.loads(harness.cli("leaks", dump, "--json", status=None).stdout)["remarks"]
    stray = next(remark for remark in found if remark["kind"] == "stray-leaf")
    assert any("in-place changes of the gradient of strays.py: " in row["what"] for row in stray["evidence"]), stray
