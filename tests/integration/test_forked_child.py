# SPDX-License-Identifier: Apache-2.0
"""What a child says that was forked at its parent's busiest moment: what a process says that has just begun and does the same. What the child
truly has from its parent, live tensors and their stacks, is marked as that."""

# Covers: preload/support/fresh_in_child.cc

import json
import re
from types import SimpleNamespace

import pytest

import dump_reader
import harness

PIECES = ("1", "2", "oom-1", "exit")  # the dumps of a piece of work: at step 2, by a call, of a failure, at the end
INHERITED = {"autograd graph"}  # the graph of the parent's model is alive in the child


class Process:
    """The files of one process, and its lines of the log."""

    def __init__(self, pid, folder):
        self.pid, self.folder = pid, folder
        self.log = [line.split(" ", 2)[2] for line in (folder / "log").read_text().splitlines() if line.split(" ", 2)[1] == pid]
        self.files = sorted(path.name.split(".", 2)[2] for path in folder.glob(f"busy_fork.{pid}.*"))

    def path(self, ending):
        return self.folder / f"busy_fork.{self.pid}.{ending}"

    def json(self, verb, ending):
        return json.loads(harness.cli(verb, self.path(ending), "--json").stdout)

    def dump(self, kind):
        return harness.load(self.path(f"{kind}.tscope"))

    def steps(self, kind):
        (payload,) = dump_reader.payloads(self.path(f"{kind}.tscope"), "STEP")
        steps = dump_reader.table("Steps").GetRootAs(payload, 4)
        return steps.Source(), steps.Count(), steps.EndsLength()


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """The one that is forked, its child, the fresh one, and a child of a parent whose recording was off."""
    pids = {}
    for kind in ("busy", "fresh"):
        folder = tmp_path_factory.mktemp(kind)
        done = harness.run("busy_fork.py", kind, folder=folder, watch="model.body", calls=1, find_nan=1, log=folder / "log",
                           dump_at_growth="10%", exit="always", dump_at_step="2")
        assert done.returncode == 0, done.stderr
        pids[kind] = [Process(pid, folder) for pid in done.stdout.split()]
    parent, child, without = pids["busy"]
    return SimpleNamespace(parent=parent, child=child, without=without, fresh=pids["fresh"][0])


@pytest.fixture(scope="module", params=PIECES)
def pair(request, processes):
    """The same dump of both."""
    return processes.child.dump(request.param), processes.fresh.dump(request.param)


def test_the_files_are_the_same(processes):
    assert processes.child.files == processes.fresh.files
    assert "growth-1.tscope" in processes.parent.files and "4.tscope" in processes.parent.files


def test_what_was_seen_and_missed_is_the_same(pair):
    child, fresh = ({row["subject"]: row for row in dump["coverage"] if row["subject"] not in INHERITED} for dump in pair)
    assert child == fresh


def test_dumps_steps_and_failures_are_numbered_alike(pair):
    child, fresh = pair
    for name in ("trigger", "dump_number", "step"):
        assert child["process"][name] == fresh["process"][name], name
    assert (child["process"]["forked_from"] is None, fresh["process"]["forked_from"]) == (False, None)
    failures = [dump["failure"] and (dump["failure"]["failures"], dump["failure"]["without_dump"]) for dump in pair]
    assert failures[0] == failures[1]


@pytest.mark.parametrize("kind", PIECES)
def test_marks_of_steps_are_the_same(kind, processes):
    assert processes.child.steps(kind) == processes.fresh.steps(kind)


def test_totals_and_peaks_begin_with_what_is_inherited(processes):
    def grown(process):
        first, last = (process.dump(kind)["totals"] for kind in ("1", "exit"))
        cpu = [totals["devices"][0] for totals in (first, last)]
        return (last["tensors_total"] - first["tensors_total"], cpu[1]["total_count"] - cpu[0]["total_count"],
                cpu[1]["total_bytes"] - cpu[0]["total_bytes"])

    assert grown(processes.child) == grown(processes.fresh)
    child = processes.child.dump("exit")
    assert child["totals"]["devices"][0]["peak_bytes"] < 41 << 20  # the parent had 200 MiB before
    inherited = max(child["sites"], key=lambda site: site["bytes_live"])
    assert inherited["bytes_live"] == inherited["bytes_total"] == inherited["bytes_peak"] == 40 << 20
    # Sites at which the child made nothing count what is alive.
    assert sum(site["tensors_total"] for site in child["sites"]) == child["totals"]["tensors_total"]


def test_values_and_calls_are_the_same(processes):
    def values(process):
        found = process.json("values", "values")
        (file,) = found["files"]
        findings = [(each["operation"], each["step"], each["mode"], each["site"]) for each in file["findings"]]
        return file["values"], file["calls"], file["losses"], file["unmatched"], findings, found["names"]

    def calls(process):
        found = process.json("calls", "values")
        shape = [(each["path"], each["class"], each["count"], each["backward_count"]) for each in found["tree"]]
        return shape, {name: found[name] for name in ("calls", "backward_calls", "modules", "passes", "threads", "first_step", "last_step",
                                                      "raised", "unfinished")}

    assert values(processes.child) == values(processes.fresh)
    assert calls(processes.child) == calls(processes.fresh)


def test_recordings_are_the_same(processes):
    def recorded(process):
        found = process.json("timeline", "recording")
        return {name: found[name] for name in ("lost_events", "ended", "cut_short", "is_last_part")}, len(found["steps"])

    assert recorded(processes.child) == recorded(processes.fresh)


def test_the_child_says_the_same_of_itself(processes):
    def said(process):
        """Without its pid and folder, the sizes and times of dumps, and what the coverage has."""
        lines = [line.replace(process.pid, "PID").replace(str(process.folder), "") for line in process.log]
        own = (re.sub(r" \(.*(tensor|event).*", "", line) for line in lines)
        return [line for line in own if re.match(r"\w+ (dump|wrote|writes|watch|no dump|--find-nan)\b", line)]

    assert sorted(said(processes.child)) == sorted(said(processes.fresh))
    assert f"info forked from process {processes.parent.pid}" in processes.child.log


def test_a_child_leaves_its_parents_recording_alone(processes):
    """Switched off in the parent, it has neither an end nor a file in the child."""
    assert processes.without.files == ["exit.tscope", "values"]
    assert not [line for line in processes.without.log if "recording" in line]
    parents = processes.parent.json("timeline", "recording")
    assert (parents["ended"], parents["cut_short"]) == (True, "")
