# SPDX-License-Identifier: Apache-2.0
"""Who holds memory outside tensors, and tensors that only objects of C++ hold."""

# Covers: preload/python/heap_inspector/graph/object_sizes.cc preload/python/heap_inspector/rows/container_rows.cc
# Covers: preload/python/heap_inspector/foreign/arrow_sizes.cc preload/python/heap_inspector/rows/opaque_rows.cc

import json
import pathlib
import subprocess

import pytest

import harness

PROGRAM = "plain_containers.py"


class Run:
    def __init__(self, folder):
        settings = harness.environment(folder, exit="never")
        done = subprocess.run(harness.command(PROGRAM), env=settings, cwd=folder, capture_output=True, text=True, timeout=harness.TIMEOUT)
        assert done.returncode == 0, done.stderr
        self.sizes = json.loads(done.stdout.splitlines()[-1])
        self.dumps = sorted(pathlib.Path(folder).glob("*.tscope"), key=lambda path: int(path.name.split(".")[-2]))
        self.last = harness.load(self.dumps[-1])
        self.containers = {row["name"].removeprefix(f"{PROGRAM}: "): row for row in self.last["containers"]}
        self.leaks = json.loads(harness.cli("leaks", *self.dumps, "--json", status=1).stdout)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("containers"))


def test_sizes_are_those_that_python_says(run):
    assert run.last["references"]["containers_complete"]
    for name, size in run.sizes.items():
        if size < 16 << 10:
            continue
        assert run.containers[name]["bytes"] == pytest.approx(size, rel=0.02), (name, run.containers[name])


def test_what_two_lists_have_is_neithers(run):
    """Bytes of 5,000 and more are objects of their own: both lists refer to them."""
    assert "blobs" not in run.containers, run.containers["blobs"]
    assert run.containers["shared"]["bytes"] < 100_000


def test_entries_and_their_classes(run):
    assert run.containers["short"] | {"bytes": 0} == {"name": f"{PROGRAM}: short", "type": "list", "entries": 2_000, "entry_type": "str",
                                                      "bytes": 0, "cpp_objects": 0, "cpp_type": None}
    assert (run.containers["names"]["type"], run.containers["names"]["entries"]) == ("set", 1_000)
    assert (run.containers["waiting"]["type"], run.containers["waiting"]["entries"]) == ("deque", 1_000)
    assert (run.containers["pending"]["cpp_objects"], run.containers["pending"]["cpp_type"]) == (30, "Future")
    assert run.containers["store"]["type"] == "Store", run.containers["store"]


def test_extension_objects_that_variables_lead_to(run):
    """What sqlite3 has of memory nobody knows: a row by the name of the variable."""
    assert run.containers["database.connection"] | {"name": ""} == {"name": "", "type": "Connection", "entries": 0, "entry_type": None,
                                                                    "bytes": 0, "cpp_objects": 1, "cpp_type": "Connection"}


def test_what_grew_is_named(run):
    finding = next(finding for finding in run.leaks["findings"] if finding["kind"] == "process-memory")
    assert f"{PROGRAM}: rows (list of dict)" in finding["held_by"] and f"{PROGRAM}: store (Store" in finding["held_by"], finding
    assert finding["growth"]["counts"] == "entries" and finding["growth"]["bytes"][-1] == finding["bytes"]
    rows = next(fact for fact in finding["evidence"] if fact["what"] == f"entries of {PROGRAM}: rows")
    assert rows["values"] == [6_000, 12_000, 18_000]
    rest = next(fact["values"][0] for fact in finding["evidence"] if fact["what"].startswith("growth that no container"))
    all_growth = next(fact["values"] for fact in finding["evidence"] if fact["what"].startswith("memory outside tensors"))
    assert rest < (all_growth[-1] - all_growth[0]) / 5, finding
    assert "only ever added" in finding["look_at"]


def test_structured_arrays_are_seen_through(run):
    """`memory` has room for 64 entries, of which one in each step gets a tensor."""
    finding = next(finding for finding in run.leaks["findings"] if finding["held_by"].startswith(f"{PROGRAM}: memory["))
    assert finding["held_by"].startswith(f"{PROGRAM}: memory[1..30]['state']"), finding
    assert finding["growth"]["count"] == [10, 20, 30] and finding["bytes"] == 30 * 8_192


def test_futures_hold_what_they_came_to(run):
    finding = next(finding for finding in run.leaks["findings"] if finding["held_by"].startswith(f"{PROGRAM}: pending"))
    assert finding["kind"] == "container" and finding["held_by"] == f"{PROGRAM}: pending[0..29].value() (Future)", finding
    assert finding["growth"]["count"] == [10, 20, 30] and finding["bytes"] == 30 * 16_384
