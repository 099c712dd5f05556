# SPDX-License-Identifier: Apache-2.0
"""libtensorscope.stop() and start(), `tensorscope stop` and `start`: dumps stay whole, and what has no stack is said."""
# Covers: analyzer/cli/record.cc
# Covers: preload/collector/request_file.cc

import os
import subprocess

import harness

NOT_RECORDED = "<made while stacks were not recorded>"


def check(folder):
    """Each dump holds what torch says is alive, with the bytes that torch says, and stacks for what was recorded."""
    for moment in ("1", "2", "3"):
        known = harness.truth(folder, moment)
        exported = harness.load(known["dump"])
        harness.compare(exported, known)
        stacks = {tuple(tensor["shape"]): [frame["function"] for frame in tensor["stack"]] for tensor in exported["tensors"]
                  if tensor["shape"] and 100 <= tensor["shape"][0] < 400}
        for shape, stack in stacks.items():
            maker = {1: "made_before", 2: "made_meanwhile", 3: "made_after"}[shape[0] // 100]
            if maker == "made_meanwhile":
                assert stack == [NOT_RECORDED], (moment, shape, stack)
            else:
                assert maker in stack, (moment, shape, stack)
        gap = harness.coverage(exported).get("stacks while stopped")
        assert (gap is None) == (moment == "1")
        if gap is not None:
            assert " stacks were not recorded" in gap.detail and "stopped 1 time by stop()" in gap.detail
            assert ("and is stopped now" in gap.detail) == (moment == "2")
        sizes = sorted(tensor["shape"][0] for tensor in exported["tensors"] if tensor["shape"] and 100 <= tensor["shape"][0] < 400)
        expected = {"1": list(range(100, 120)), "2": list(range(110, 120)) + list(range(200, 220)),
                    "3": list(range(110, 120)) + list(range(205, 220)) + list(range(300, 320))}[moment]
        assert sorted(set(sizes)) == expected


def test_stop_and_start_from_inside(tmp_path):
    done = harness.run("stop_and_start.py", "inside", folder=tmp_path, quiet=1)
    assert done.returncode == 0, done.stderr
    check(tmp_path)
    report = harness.cli("report", harness.truth(tmp_path, "2")["dump"], env={**os.environ, "COLUMNS": "300"}).stdout
    assert NOT_RECORDED in report


def test_stop_and_start_from_outside(tmp_path):
    with harness.running("stop_and_start.py", str(tmp_path), folder=tmp_path, ready="stop", quiet=1) as process:
        harness.cli("stop", process.pid)
        (tmp_path / "stop").touch()
        assert process.stdout.readline().strip() == "start"
        harness.cli("start", process.pid)
        (tmp_path / "start").touch()
        assert process.wait(harness.TIMEOUT) == 0
    check(tmp_path)


def test_stopped_before_torch_is_there(tmp_path):
    source = ("import libtensorscope\nlibtensorscope.stop()\nimport torch\nearly = torch.ones(5)\nlibtensorscope.start()\n"
              "late = torch.ones(6)\nprint(libtensorscope.dump())\n")
    done = harness.run_source(source, folder=tmp_path, quiet=1)
    assert done.returncode == 0, done.stderr
    stacks = {tuple(tensor["shape"]): [frame["function"] for frame in tensor["stack"]]
              for tensor in harness.load(done.stdout.strip())["tensors"]}
    assert stacks[(5,)] == [NOT_RECORDED] and "<module>" in stacks[(6,)]


def test_who_is_not_there_is_not_waited_for():
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        for verb in ("stop", "start"):
            done = harness.cli(verb, sleeper.pid, status=2)
            assert done.stderr.count("\n") == 1 and str(sleeper.pid) in done.stderr
    finally:
        sleeper.kill()
        sleeper.wait()
