# SPDX-License-Identifier: Apache-2.0
"""Children of a program write dumps with their parent's, and `leaks` names what they keep."""

# Covers: preload/collector/child_dumps.cc analyzer/dump/run_dumps.cc

import json

import pytest

import harness

PROGRAM = "leaking_worker.py"


def run(folder, *arguments, **options):
    settings = dict(dump_at_step="15,30,45,60", exit="never") | options
    done = harness.run(PROGRAM, *arguments, folder=folder, **settings)
    assert done.returncode == 0, done.stderr
    parent, workers = [], {}
    for path in sorted(harness.dumps(folder)):
        process = harness.load(path)["process"]
        (workers.setdefault(process["pid"], []) if process["asked_by_run"] else parent).append(path)
    return parent, workers


@pytest.mark.cases(1)
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_a_worker_that_leaks_is_named_by_its_parents_dumps(start, tmp_path):
    parent, workers = run(tmp_path, start, "leaks")
    assert len(parent) == 4
    for paths in workers.values():
        process = harness.load(paths[-1])["process"]
        own = harness.load(parent[-1])["process"]
        assert process["asked_by_run"] == own["run_id"] and process["asked_by_dump"] in (2, 3, 4)
        assert f"of process {own['pid']}" in process["trigger_detail"]
    done = harness.cli("leaks", *parent, "--json", status=1)
    assert "child processes wrote dumps with these" in done.stderr, done.stderr
    finding = json.loads(done.stdout)["findings"][0]
    assert "kept" in finding["held_by"], finding
    leaking, = finding["processes"]
    assert len(workers[leaking]) >= 2
    assert "record = torch.ones" in finding["made_at"]["source"], finding
    bytes_ = [harness.load(path)["totals"]["devices"][0]["live_bytes"] for path in (workers[leaking][0], workers[leaking][-1])]
    grown = finding["growth"]["bytes"][-1] - finding["growth"]["bytes"][0]
    assert grown == pytest.approx(bytes_[1] - bytes_[0], abs=2 << 20)


def test_never(tmp_path):
    parent, workers = run(tmp_path, "fork", "leaks", children="never")
    assert len(parent) == 4 and not workers


def test_all(tmp_path):
    _, workers = run(tmp_path, "fork", "healthy", children="all", dump_at_step="30")
    assert [len(paths) for paths in workers.values()] == [1, 1]
