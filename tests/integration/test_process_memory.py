# SPDX-License-Identifier: Apache-2.0
"""Memory of the process that no tensor has: Python's own heap and what is mapped, compared with what the program knows."""

# Covers: preload/python/heap_inspector/foreign/python_heap.cc preload/dump/mappings.cc preload/dump/memory_chunk.cc analyzer/dump/decode/process_memory.cc analyzer/leaks/process_growth.cc

import ctypes.util
import json
import subprocess

import harness
import pytest
from test_bridge import every_python, run_probe
from test_leak_answers import grown
from test_leaks import dumps_of, kinds, leaks

PROGRAM = "process_memory.py"
MIB = 1 << 20
IN_USE = "Python's heap: small objects (up to 512 bytes each)"
KEPT = "Python's heap: free memory kept by Python"
COPIED = "copied pages of mapped files"


@pytest.mark.cases(4)
@every_python
def test_python_heap_of_every_interpreter(python):
    rows = [line.split(" ", 4) for line in run_probe(python, "heap.py").stdout.splitlines()]
    for arenas, in_use, known_arenas, known_in_use, detail in rows:
        assert detail == "" and int(known_arenas) > 0, rows
        assert int(arenas) == pytest.approx(int(known_arenas), abs=2 * MIB), rows
        assert int(in_use) == pytest.approx(int(known_in_use), abs=MIB // 2), rows
    assert int(rows[1][1]) - int(rows[0][1]) > 50 * MIB


@pytest.mark.cases(4)
@pytest.mark.parametrize("settings", [{"PYTHONMALLOC": "malloc"}, {"PYTHONTRACEMALLOC": "1"}])
@every_python
def test_another_allocator_is_said(python, settings):
    for line in run_probe(python, "heap.py", **settings).stdout.splitlines():
        arenas, in_use, _, _, detail = line.split(" ", 4)
        assert (arenas, in_use) == ("0", "0") and "PYTHONMALLOC" in detail, line


OTHER_MALLOC = """
import torch
kept = [torch.ones(1000) for _ in range(100)]
print(sum(float(one.sum()) for one in kept))
"""


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
@pytest.mark.parametrize("first", [True, False])
def test_another_malloc_is_as_good_and_said(library, first, tmp_path):
    if ctypes.util.find_library(library.removeprefix("lib").split(".so")[0]) is None:
        pytest.skip(f"{library} is not installed")
    pair = [library, str(harness.LIBRARY)] if first else [str(harness.LIBRARY), library]
    done = subprocess.run([harness.PYTHON, "-c", OTHER_MALLOC], env={**harness.environment(tmp_path), "LD_PRELOAD": ":".join(pair)}, cwd=tmp_path,
                          capture_output=True, text=True, timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (0, "100000.0\n"), done.stderr
    (dump,) = harness.dumps(tmp_path)
    assert len([tensor for tensor in harness.load(dump)["tensors"] if tensor["shape"] == [1000]]) == 100
    (row,) = (line for line in harness.cli("info", dump).stdout.splitlines() if line.split()[:1] == ["malloc"])
    assert "not recorded: only glibc's malloc says what it has" in row


def dumps_and_truth(kind, folder):
    dumps = dumps_of(PROGRAM, kind, folder, steps="1,2")
    truth = json.loads((folder / "truth.json").read_text())
    for dump, known in zip(dumps, truth):
        check(harness.load(dump), known)
    return dumps, truth


def check(exported, known):
    memory = exported["process_memory"]
    assert memory["python_arenas"] == pytest.approx(known["python"][0], abs=4 * MIB)
    assert memory["python_in_use"] == pytest.approx(known["python"][1], abs=2 * MIB)
    rows = memory["mappings"]
    resident = sum(row["resident_bytes"] for row in rows)
    assert resident == pytest.approx(exported["totals"]["resident_bytes"], abs=8 * MIB)
    for row in rows:
        if row["kind"] == "file" and row["name"]:
            of_program = known["mappings"][row["name"]]
            assert row["resident_bytes"] == pytest.approx(of_program[0], rel=0.1, abs=MIB), row
            assert row["anonymous_bytes"] == pytest.approx(of_program[1], rel=0.1, abs=MIB), row
    rest = [row for row in rows if row["kind"] == "file" and row["name"] is None]
    named = {row["name"] for row in rows}
    files = [name for name in known["mappings"] if name.startswith("/") and name not in named]
    assert not files or rest


def growth(found, what):
    return grown(found, what) / MIB


def test_python_objects(tmp_path):
    """Most of it is small objects, which malloc never sees: a finding with two dumps, too."""
    dumps, truth = dumps_and_truth("objects", tmp_path)
    found = leaks(dumps, status=1)
    assert kinds(found) == ["process-memory"], found
    known = (truth[1]["python"][1] - truth[0]["python"][1]) / MIB
    assert known > 64
    assert growth(found, IN_USE) == pytest.approx(known, abs=2)
    assert found["findings"][0]["held_by"] == "process_memory.py: kept (list of tuple)", found
    text = harness.cli("info", dumps[1]).stdout
    assert any("Python heap" in line and "in small objects" in line for line in text.splitlines()), text


def test_what_python_keeps(tmp_path):
    dumps, truth = dumps_and_truth("freed-objects", tmp_path)
    found = leaks(dumps, status=0)
    kept = [arenas - in_use for arenas, in_use in (known["python"] for known in truth)]
    assert growth(found, KEPT) == pytest.approx((kept[1] - kept[0]) / MIB, abs=4)
    assert growth(found, KEPT) > 50 and growth(found, IN_USE) < 16
    assert "arena" in found["answer"]["process_look_at"]


@pytest.mark.parametrize("kind, part", [("copied", COPIED), ("mapped", "mapped files and libraries")])
def test_a_mapped_file(kind, part, tmp_path):
    dumps, truth = dumps_and_truth(kind, tmp_path)
    found = leaks(dumps, status=0)
    name = str(tmp_path / "data.bin")
    known = truth[1]["mappings"][name]
    assert growth(found, "of which " + name) == pytest.approx((known[1] if kind == "copied" else known[0]) / MIB, abs=1)
    assert growth(found, part) >= 80 and "map" in found["answer"]["process_look_at"]
    parts = [row["what"] for row in found["answer"]["process"]]
    begin = parts.index(part)
    files = [row for row in found["answer"]["process"][begin + 1:] if row["what"].startswith("of which ")]
    files = files[:1 + next(i for i, row in enumerate(files) if row["what"] == "of which other files")]
    for i, whole in enumerate(found["answer"]["process"][begin]["values"]):
        assert sum(row["values"][i] for row in files) == whole, found["answer"]
    text = harness.cli("leaks", *dumps, env={**harness.environment(preload=False), "COLUMNS": "200"}).stdout
    assert "of which " + name in text and part in text, text
