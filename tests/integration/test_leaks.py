# SPDX-License-Identifier: Apache-2.0
"""`tensorscope leaks` on programs that leak in one known way, and on programs that do not leak."""

# Covers: analyzer/export/json/leaks.cc

import json
import pathlib
import subprocess

import pytest

import harness


def dumps_of(program, kind, folder, steps="10,20,30"):
    settings = harness.environment(folder, exit="never", children="never")
    settings["LEAK_DUMPS"] = steps
    done = subprocess.run(harness.command(program, kind), env=settings, cwd=folder, capture_output=True, text=True,
                          timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stderr
    found = sorted(pathlib.Path(folder).glob("*.tscope"), key=lambda path: int(path.name.split(".")[-2]))
    assert len(found) == len(steps.split(","))
    return found


def leaks(dumps, *arguments, status):
    return json.loads(harness.cli("leaks", *dumps, "--json", *arguments, status=status).stdout)


def kinds(found):
    return [finding["kind"] for finding in found["findings"]]


GRAPHS = {
    "kept": ("accumulated-graph", "losses[0..29]"),
    "kept-after-backward": ("graph-nodes", "losses[0..29]"),
    "sum": ("accumulated-graph", "trainer.total"),
    "sum-after-backward": ("graph-nodes", "trainer.total"),
    "hidden": ("state-not-detached", "trainer.hidden"),
    "functions": ("container", "functions["),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", GRAPHS)
def test_leaks_through_the_graph(kind, tmp_path):
    finding, holder = GRAPHS[kind]
    dumps = dumps_of("leak_graphs.py", kind, tmp_path)
    found = leaks(dumps, status=1)
    assert kinds(found) == [finding], found
    assert holder in found["findings"][0]["held_by"]
    assert all(place["finding"] == 0 for place in found["places"] if place["leak"]), found["places"]
    # Two dumps show it too, and say that they are few.
    found = leaks(dumps[1:], status=1)
    assert kinds(found) == [finding] and found["answer"]["weak"]


OBJECTS = {
    "views": ("small-view", "crops[0..29]"),
    "traceback": ("traceback", "fails"),
    "cycle": ("reference-cycle", "Node"),
    "cache": ("container", "features['batch-*']"),
    "list": ("container", "trainer.history[0..29]['out']"),
    "cpp": ("container", "scripted.kept[0..29]"),
    "memory": ("process-memory", "junk"),
    "dtypes": ("two-dtypes", "bfloat16"),
}
ONE_DUMP = ("views", "traceback", "cycle", "dtypes")


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", OBJECTS)
def test_leaks_without_a_graph(kind, tmp_path):
    finding, holder = OBJECTS[kind]
    dumps = dumps_of("leak_objects.py", kind, tmp_path)
    found = leaks(dumps, status=1)
    assert kinds(found) == [finding], found
    assert holder in found["findings"][0]["held_by"]
    assert found["findings"][0]["evidence"]
    one = leaks(dumps[2:], status=1 if kind in ONE_DUMP else 0)
    assert kinds(one) == ([finding] if kind in ONE_DUMP else [])


def test_a_leaf_in_no_optimizer_does_not_grow(tmp_path):
    found = leaks(dumps_of("leak_objects.py", "stray", tmp_path), status=0)
    remark, = [remark for remark in found["remarks"] if remark["kind"] == "stray-leaf"]
    assert remark["reason"] == "does-not-grow" and "scale" in remark["held_by"] and kinds(found) == []


@pytest.mark.cases(4)
@pytest.mark.parametrize("kind", ["train", "epochs", "warm-up", "cache", "recurrent", "autocast", "saliency",
                                  "two-optimizers", "replay", "evaluate", "lengths", "inside"])
def test_a_program_that_does_not_leak(kind, tmp_path):
    dumps = dumps_of("leak_none.py", kind, tmp_path)
    for some in (dumps, dumps[:2], dumps[1:], dumps[:1], dumps[2:]):
        found = leaks(some, status=0)
        assert kinds(found) == [] and not found["answer"]["found"], (some, found)


def test_two_runs_are_refused(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    paths = []
    for folder in (first, second):
        folder.mkdir()
        paths += dumps_of("leak_none.py", "evaluate", folder, steps="1")
    done = harness.cli("leaks", *paths, status=2)
    assert "different runs" in done.stderr and done.stdout == ""


def test_text_says_where_to_look(tmp_path):
    dumps = dumps_of("leak_graphs.py", "kept", tmp_path)
    def text(columns):
        settings = {**harness.environment(preload=False), "COLUMNS": str(columns)}
        return harness.cli("leaks", *[path.name for path in dumps], status=1, cwd=tmp_path, env=settings).stdout.splitlines()

    wide = text(120)
    first_lines = "\n".join(wide[:6])
    assert "autograd graphs kept by an accumulated loss" in first_lines and "losses[0..29]" in first_lines
    assert any("leak_graphs.py:" in line for line in wide) and any("loss.detach()" in line for line in wide)
    assert max(map(len, text(60))) <= 60
