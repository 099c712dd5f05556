# SPDX-License-Identifier: Apache-2.0
"""The command line on real programs and real dumps, as the README's reader uses it."""

# Covers: analyzer/cli/main.cc
# Covers: analyzer/text/terminal.cc

import csv
import io
import json
import os
import random
import re
import signal
import subprocess

import pytest

import harness


@pytest.fixture(scope="module")
def leak(tmp_path_factory):
    """Three dumps of one leaking run, oldest first."""
    folder = tmp_path_factory.mktemp("leak")
    done = harness.run("leak.py", folder=folder)
    assert done.returncode == 0, done.stderr
    return [harness.truth(folder, name)["dump"] for name in ("10", "20", "30")]


def test_run_passes_output_status_and_signals_through(tmp_path):
    environment = harness.environment(tmp_path, preload=False)
    program = harness.command("ends.py", "status")
    done = subprocess.run([harness.CLI, "run", "--dir", str(tmp_path), "--", *program], env=environment, cwd=tmp_path,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "before the end\n")
    assert len(harness.dumps(tmp_path, "ends.*.exit.tscope")) == 1
    killed = subprocess.run([harness.CLI, "run", "--", *harness.command("ends.py", "kill")], env=environment, cwd=tmp_path,
                            capture_output=True, text=True)
    assert killed.returncode == -signal.SIGTERM
    assert subprocess.run([harness.CLI, "run", "--", "no-such-program"], capture_output=True).returncode == 127


def test_snapshot_of_a_running_program(tmp_path):
    stop = tmp_path / "stop"
    with harness.running("waiter.py", str(stop), folder=tmp_path) as process:
        done = harness.cli("snapshot", process.pid)
        path = done.stdout.strip()
        assert path.endswith(f"waiter.{process.pid}.1.tscope") and os.path.exists(path)
        assert harness.load(path)["process"]["pid"] == process.pid
        stop.touch()
        assert process.wait(harness.TIMEOUT) == 0


def test_snapshot_never_kills_a_program_without_the_preload(tmp_path):
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        done = harness.cli("snapshot", sleeper.pid, status=2)
        assert str(sleeper.pid) in done.stderr and done.stderr.count("\n") == 1 and not done.stdout
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()
    assert harness.cli("snapshot", sleeper.pid, status=2).stderr.count("\n") == 1


@pytest.mark.parametrize("by", ["site", "line", "function", "module", "dtype", "device", "shape", "thread", "category", "holder"])
def test_every_grouping_sums_to_the_same_total(by, leak):
    """The rows' counts to the tensor, their bytes as far as they are rounded."""
    text = harness.cli("report", leak[2], "--by", by, "--top", "1000").stdout
    exported = harness.load(leak[2])
    assert len(exported["tensors"]) > 50
    whole = sum(item["live_bytes"] for item in exported["totals"]["devices"])
    assert whole == sum(item["nbytes"] for item in exported["allocations"]) > 100_000
    rows = re.findall(r"^ +([\d.]+) (B|KiB|MiB) +<?\d+ % +([\d,]+) +\d+\S+  \S", text, re.MULTILINE)
    assert rows, text
    unit = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
    assert sum(int(count.replace(",", "")) for _, _, count in rows) == len(exported["tensors"])
    rounded = sum(unit[name] * 0.05 for _, name, _ in rows if name != "B")
    assert abs(sum(float(number) * unit[name] for number, name, _ in rows) - whole) <= rounded + 1


def test_check_is_for_ci(leak):
    found = harness.cli("check", leak[0], leak[2], "--max-growth", "1KiB", status=1)
    assert "leak.py" in found.stdout
    harness.cli("check", leak[0], leak[2], "--max-growth", "1GiB", status=0)
    harness.cli("check", leak[0], leak[2], "--max-growth", "1GiB", "--max-live", "1B", status=1)
    harness.cli("check", leak[0], leak[2], "--max-growth", "much", status=2)


def test_list_and_show(leak):
    exported = harness.load(leak[0])
    listed = harness.cli("list", leak[0], "--top", "0").stdout
    for tensor in exported["tensors"]:
        assert f"#{tensor['id']} " in listed
    loss = next(tensor for tensor in exported["tensors"] if tensor["grad_fn"] == "MeanBackward0")
    shown = harness.cli("show", leak[0], loss["id"]).stdout
    assert "leak.py" in shown and "step" in shown and "libtorch_cpu.so" in shown
    assert harness.cli("show", leak[0], "999999999", status=2).stderr.count("\n") == 1


def test_export_formats(leak, tmp_path):
    exported = harness.load(leak[0])
    assert len(exported["tensors"]) > 20 and len(exported["storages"]) > 20
    for key in ("process", "totals", "tensors", "storages", "allocations", "stacks", "sites"):
        assert key in exported
    needed = {"id", "address", "class", "shape", "strides", "dtype", "device", "layout", "requires_grad", "is_leaf", "nbytes",
              "storage", "storage_offset", "grad_fn", "names", "category", "holders", "thread", "created_ns", "stack"}
    for tensor in exported["tensors"]:
        assert needed <= tensor.keys()
        for frame in tensor["stack"]:
            assert {"language", "function", "file", "line", "module"} <= frame.keys()
    for storage in exported["storages"]:
        assert {"id", "data_ptr", "nbytes", "device", "kind", "allocation"} <= storage.keys()
    rows = list(csv.DictReader(io.StringIO(harness.cli("export", leak[0], "--format", "csv").stdout)))
    assert len(rows) == len(exported["tensors"])
    folded = harness.cli("export", leak[0], "--format", "folded").stdout.splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == exported["totals"]["devices"][0]["live_bytes"]
    harness.cli("export", leak[0], "--format", "json", "-o", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == exported
    by_id = json.loads(harness.cli("export", leak[0], "--format", "json", "--stacks", "by-id").stdout)
    stacks = {stack["id"]: stack["frames"] for stack in by_id["stacks"]}
    for tensor in by_id["tensors"]:
        tensor["stack"] = stacks[tensor["stack"]]
    assert by_id == exported
    mistake = harness.cli("export", leak[0], "--format", "json", "--stacks", "some", status=2)
    assert mistake.stdout == "" and len(mistake.stderr.splitlines()) == 1


def test_native_and_python_frames_are_merged(leak):
    exported = harness.load(leak[0])
    loss = next(tensor for tensor in exported["tensors"] if tensor["grad_fn"] == "MeanBackward0")
    languages = [frame["language"] for frame in loss["stack"]]
    assert languages[0] == "native" and "python" in languages
    functions = [frame["function"] for frame in loss["stack"]]
    assert any("at::_ops::mean" in name for name in functions)
    assert functions.index("step") < functions.index("<module>")
    assert not any("libtensorscope" in (frame["module"] or "") for frame in loss["stack"])


def test_damaged_dumps_are_one_line_and_status_two(leak, tmp_path):
    whole = open(leak[0], "rb").read()
    dice = random.Random(0)
    cases = {"empty": b"", "text": b"no dump at all\n" * 100, "half": whole[:len(whole) // 2], "head": whole[:10]}
    for number in range(20):
        damaged = bytearray(whole)
        damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        cases[f"flipped-{number}"] = bytes(damaged)
    for name, content in cases.items():
        path = tmp_path / f"{name}.tscope"
        path.write_bytes(content)
        for verb in ("report", "info", "list"):
            done = harness.cli(verb, path, status=2)
            assert 1 <= done.stderr.count("\n") <= 3 and name in done.stderr, (name, done.stderr)
    assert harness.cli("report", tmp_path / "missing.tscope", status=2).stderr.count("\n") == 1


def test_a_broken_pipe_is_quiet(leak):
    done = subprocess.run(["/bin/sh", "-c", '"$0" list "$1" --top 0 | head -1', str(harness.CLI), leak[2]],
                          capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.count("\n") == 1
