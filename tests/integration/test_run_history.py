# SPDX-License-Identifier: Apache-2.0
"""A dump knows the run before it: what the peak was made of, though everything is freed, and how much memory grew a step."""
# Covers: preload/collector/history_seconds.cc

import json
import re

import pytest

from harness import cli, dumps, load, run_source

# Each step keeps 64 KiB in a list, and computes with 16 MiB that its forward pass makes. main() returns: all is freed at exit.
PROGRAM = """
import torch, libtensorscope, time

KEPT, STEPS = 16384, 40

def forward(weight, batch):
    return (batch * weight).sum()

def main():
    weight = torch.ones(1 << 21, requires_grad=True)
    seen = []
    for step in range(STEPS):
        batch = torch.ones(1 << 21)
        forward(weight, batch).backward()
        weight.grad = None
        seen.append(torch.ones(KEPT))
        if step == STEPS // 2:
            libtensorscope.dump()

main()
"""
KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    done = run_source(PROGRAM, folder=folder)
    assert done.returncode == 0, done.stderr
    return dumps(folder, "*.1.tscope")[0], dumps(folder, "*.exit.tscope")[0]


def line_of(text):
    return 1 + PROGRAM.split(text)[0].count("\n")


def test_a_script_with_main_is_answered_at_exit(run):
    """The README's first two commands."""
    report = cli("report", run[1]).stdout.replace("\n  ", " ")  # a sentence that runs on
    first, second = report.splitlines()[:2]
    assert first.startswith(("Everything was freed before this dump.", "Nearly everything was freed before this dump:")), report
    # At its highest: the weight, the batch and the product, and what was kept.
    peak = float(re.search(r"Peak: ([\d.]+) MiB in step (\d+)", first).group(1))
    assert 24 <= peak <= 24 + 8 + 40 / 16 + 0.5, first
    assert re.match(r"cpu memory grew by 64\.0 KiB a step from step \d+ to 39: ", second), report
    assert "largest allocation sites at the peak" in report and f"program.py:{line_of('batch = torch')} main" in report, report


def test_what_was_alive_at_the_peak_adds_up(run):
    """With one thread that allocates, to the byte, and within 1 % of the true peak."""
    for dump in run:
        exported = load(dump)
        peak, [cpu] = exported["peak"], exported["totals"]["devices"]
        assert sum(site["bytes"] for site in peak["sites"]) + peak["other_bytes"] == peak["bytes"]
        assert [device["live_bytes"] for device in peak["devices"]] == [peak["bytes"]]
        assert cpu["peak_bytes"] * 0.99 <= peak["bytes"] <= cpu["peak_bytes"]
        assert sum(site["bytes"] for site in peak["sites"] if site["bytes"] >= 8 * MIB) == 24 * MIB, peak


def test_the_history_has_each_step_to_the_byte(run):
    exported = load(run[1])
    points = exported["history"]["points"]
    steps = [point for point in points if point["kind"] == "step"]
    assert [point["step"] for point in steps] == list(range(1, 40))  # the last one has no forward pass after it
    live = [point["devices"][0]["live_bytes"] for point in steps[2:]]
    made = [point["devices"][0]["total_bytes"] for point in steps[2:]]
    assert {later - earlier for earlier, later in zip(live, live[1:])} == {64 * KIB}
    [a_step] = {later - earlier for earlier, later in zip(made, made[1:])}
    assert 24 * MIB + 64 * KIB <= a_step < 24 * MIB + 65 * KIB, a_step
    last, [cpu] = points[-1], exported["totals"]["devices"]
    assert last["kind"] == "dump" and last["devices"][0]["live_bytes"] == cpu["live_bytes"]
    assert last["devices"][0]["total_bytes"] == cpu["total_bytes"]
    assert max(point["devices"][0]["peak_bytes"] for point in points) == cpu["peak_bytes"]
    assert exported["history"]["growth"] == [{"device": "cpu", "kind": "grew", "unit": "step", "units": steps[-1]["step"] - 5, "bytes_each": 64 * KIB}]


def test_a_dump_during_the_run_ends_there(run):
    points = load(run[0])["history"]["points"]
    assert [point["kind"] for point in points if point["kind"] != "second"] == ["step"] * 20 + ["dump"]
    assert points[-1]["step"] == 20 and points[-1]["devices"][0]["live_bytes"] > 8 * MIB
    assert "--peak" not in cli("report", run[0], "--peak").stderr


# Without a step: a second is a moment, and the collector knows how much of the process is resident. The child begins anew.
SECONDS = """
import libtensorscope, os, time, torch
kept = torch.ones(1 << 20)
if os.fork() == 0:
    small = torch.ones(1 << 18)
    libtensorscope.dump()
    os._exit(0)
os.wait()
time.sleep(2.5)
"""


def test_without_steps_each_second_is_a_moment(tmp_path):
    done = run_source(SECONDS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    child, parent = (load(dump) for dump in dumps(tmp_path))
    assert child["process"]["forked_from"] == parent["process"]["pid"]
    seconds = [point for point in parent["history"]["points"] if point["kind"] == "second"]
    assert seconds and all(point["step"] is None for point in seconds)
    assert all(point["resident_bytes"] > 16 * MIB for point in seconds)
    began = child["history"]["points"][0]  # with what was alive at the fork, and no step
    assert began["time_ns"] > parent["history"]["points"][0]["time_ns"] and 4 * MIB <= began["devices"][0]["total_bytes"] <= 5 * MIB
    assert parent["peak"]["bytes"] >= 4 * MIB and child["peak"]["bytes"] >= 5 * MIB


# Everything is freed when main() returns; what the memory of the peak was for is known all the same.
NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))

    def forward(self, x):
        return self.layers(x)

def main():
    data = torch.utils.data.TensorDataset(torch.randn(2048, 256), torch.randint(10, (2048,)))
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(3):
        for x, y in torch.utils.data.DataLoader(data, batch_size=512):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()

main()
"""
PARAMETERS = 4 * (256 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10)


def test_the_peak_of_a_training_is_known_by_category_when_all_is_freed(tmp_path):
    done = run_source(NET, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [dump] = dumps(tmp_path)
    report = cli("report", dump).stdout
    assert report.startswith("Everything was freed before this dump."), report
    rows = json.loads(cli("query", dump, "--format", "json", "select category, sum(category_bytes) as bytes, min(category_source) as source "
                                                             "from peak_sites where category is not null group by category").stdout)
    found = {row["category"]: row["bytes"] for row in rows}
    assert {row["source"] for row in rows} == {"inferred"}
    # At the peak Adam's moments are there and gradients, or most of these; the loader's batch; the results of the layers, or temporaries of Adam.
    assert PARAMETERS <= found["parameter"] <= PARAMETERS * 1.001, found
    assert 2 * PARAMETERS <= found["optimizer state"] <= 2 * PARAMETERS * 1.001, found
    assert found["input batch"] == 512 * (256 * 4 + 8), found
    assert 0 < found["gradient"] <= PARAMETERS * 1.001, found
    assert set(found) <= {"parameter", "optimizer state", "input batch", "gradient", "saved activation", "backward temporary", "temporary"}, found
    [all_of_it] = json.loads(cli("query", dump, "--format", "json", "select max(peak_bytes) as bytes from peak_sites").stdout)
    data = 2048 * (256 * 4 + 8)  # the program's own: held by its data set, for which nothing of this tells
    assert data <= all_of_it["bytes"] - sum(found.values()) <= data + 64 * KIB, found
    # Peak and categories of a step in which the activations are most of it.
    assert " ~ " in report and "not known" in report, report
