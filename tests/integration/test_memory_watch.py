# SPDX-License-Identifier: Apache-2.0
"""Dumps before the kernel kills, and dumps at growth: there when the program is gone, and no more of them than were asked for."""

# Covers: preload/collector/memory_limits.cc

import os
import pathlib
import signal
import subprocess

import pytest

import dump_reader
import harness

MEBIBYTE = 1 << 20
LOW = 128 * MEBIBYTE


def near(folder):
    return harness.dumps(folder, "*.low-memory-*.tscope")


@pytest.fixture(scope="module")
def limit(tmp_path_factory):
    """Of address space: what a program takes that has only loaded torch, and 1 GiB."""
    folder = tmp_path_factory.mktemp("empty")
    source = ("import re, torch\nkept = torch.ones(3)\n"
              "print(re.search(r'VmSize:\\s+(\\d+)', open('/proc/self/status').read())[1])\n")
    done = harness.run_source(source, folder=folder, exit="never")
    return (int(done.stdout) << 10) + 1024 * MEBIBYTE


def under_limit(how, limit, *numbers, folder, **options):
    settings = {"low_memory": "128M", "exit": "never", "quiet": 1, **options}
    done = harness.run("near_limit.py", how, *map(str, (limit, LOW, *numbers)), folder=folder, **settings)
    assert done.returncode == 0, done.stderr
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_one_dump_an_approach(tmp_path, limit):
    told = under_limit("again", limit, 1, 0, folder=tmp_path, oom_interval_ms=0)
    assert [line[0] for line in told] == [1, 2]
    dumps = near(tmp_path)
    assert [path.name.split(".")[-2] for path in dumps] == ["low-memory-1", "low-memory-2"]
    assert len(harness.dumps(tmp_path)) == 2
    for dump, (_, kept) in zip(dumps, told):
        exported = harness.load(dump)
        assert exported["process"]["trigger"] == "low_memory"
        assert exported["process"]["trigger_detail"] == "little address space is left (RLIMIT_AS)"
        pieces = [tensor for tensor in exported["tensors"] if tensor["shape"] == [4 * MEBIBYTE]]
        assert kept / 2 < len(pieces) <= kept
        assert all("approach" in [name for name, _, _ in harness.frames(tensor)] for tensor in pieces)
        known = dump_reader.failure(dump)
        assert (known.kind, known.limit) == ("low_memory", "address_space")
        assert known.limit_bytes == limit and 0 < known.left_bytes < LOW


def test_within_the_interval_there_is_no_second(tmp_path, limit):
    told = under_limit("again", limit, 1, 8, folder=tmp_path)
    assert [line[0] for line in told] == [1, 1]


def test_memory_that_is_not_torchs_is_seen_too(tmp_path, limit):
    assert under_limit("elsewhere", limit, folder=tmp_path) == [[1]]
    (dump,) = near(tmp_path)
    assert [tensor["shape"] for tensor in harness.load(dump)["tensors"]].count([3]) == 1


def test_switched_off_nothing_is_watched(tmp_path, limit):
    told = under_limit("again", limit, 0, 2, folder=tmp_path, low_memory="off", exit="always")
    assert [line[0] for line in told] == [0, 0]
    (dump,) = harness.dumps(tmp_path)
    seen, detail, _ = harness.coverage(dump)["memory limits"]
    assert seen == "no" and detail.startswith("switched off by TENSORSCOPE_LOW_MEMORY")


def test_the_dump_says_which_limits_are_watched(tmp_path, limit):
    under_limit("elsewhere", limit, folder=tmp_path)
    seen, detail, _ = harness.coverage(near(tmp_path)[0])["memory limits"]
    assert seen == "yes" and detail.startswith("watched: ") and "machine" in detail and "RLIMIT_AS" in detail


class ControlGroup:
    """A group of our own with a limit of memory, below the group of this process or, in version 2, below the root."""

    def __init__(self, limit):
        root = pathlib.Path("/sys/fs/cgroup")
        if (root / "memory" / "memory.limit_in_bytes").exists():
            lines = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
            own = next((path for _, controllers, path in lines if "memory" in controllers.split(",")), "/")
            above = root / "memory" / own.lstrip("/")
            self.path = (above if above.exists() else root / "memory") / f"tensorscope-test-{os.getpid()}"
            files = {"memory.limit_in_bytes": limit, "memory.memsw.limit_in_bytes": limit}
        elif (root / "cgroup.controllers").exists():
            self.path = root / f"tensorscope-test-{os.getpid()}"
            files = {"memory.max": limit, "memory.swap.max": 0}
            if "memory" not in (root / "cgroup.subtree_control").read_text():
                (root / "cgroup.subtree_control").write_text("+memory")
        else:
            raise OSError("no control groups of memory are mounted")
        self.path.mkdir()
        try:
            for name, value in files.items():
                if name in ("memory.limit_in_bytes", "memory.max") or (self.path / name).exists():
                    (self.path / name).write_text(str(value))
        except OSError:
            self.remove()
            raise

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def remove(self):
        self.path.rmdir()


@pytest.fixture
def group():
    limit = 1024 * MEBIBYTE
    try:
        group = ControlGroup(limit)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield group, limit
    group.remove()


@pytest.mark.parametrize("piece", [2, 200])
def test_the_last_dump_is_there_when_the_kernel_has_killed(tmp_path, group, piece):
    group, limit = group
    done = subprocess.run(harness.command("near_limit.py", "until_killed", str(piece * MEBIBYTE)), cwd=tmp_path,
                          env=harness.environment(tmp_path, low_memory="5%", exit="never"), preexec_fn=group.enter, capture_output=True,
                          text=True, timeout=harness.TIMEOUT)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (dump,) = near(tmp_path)
    known = dump_reader.failure(dump)
    assert (known.kind, known.limit, known.limit_bytes) == ("low_memory", "cgroup", limit)
    assert known.left_bytes < limit // 20
    exported = harness.load(dump)
    assert exported["tensorscope"]["complete"] and exported["process"]["trigger"] == "low_memory"
    pieces = [tensor for tensor in exported["tensors"] if tensor["shape"] == [piece * MEBIBYTE]]
    assert sum(tensor["nbytes"] for tensor in pieces) > limit // 4
    assert any(name.startswith("near_limit.py: kept[") for tensor in pieces for name in tensor.get("names", []))


def in_group(folder, group, *arguments, **options):
    return subprocess.run(harness.command("near_limit.py", *map(str, arguments)), cwd=folder, env=harness.environment(folder, **options),
                          preexec_fn=group.enter, capture_output=True, text=True, timeout=harness.TIMEOUT)


@pytest.mark.cases(1)
@pytest.mark.parametrize("share", [0.985, 0.93, 0.955, 0.97])
def test_a_dump_is_never_the_reason_for_a_kill(tmp_path, group, share):
    """At low memory, by a signal, at exit: each dump takes no more than is left, or there is a line instead of it."""
    group, limit = group
    done = in_group(tmp_path, group, "stays", group.path / "memory.stat", limit, share, 150_000, low_memory="7.5%")
    assert (done.returncode, done.stdout) == (0, "stays\nended 150000\n"), done.stderr
    dumps = harness.dumps(tmp_path)
    lines = [line for line in done.stderr.splitlines() if line.startswith("tensorscope: no dump: it needs about ")]
    assert all(" for 150," in line and line.endswith(" is left in the control group") for line in lines), done.stderr
    assert len(dumps) + len(lines) == 3, done.stderr
    low = harness.load(near(tmp_path)[0])
    assert low["tensorscope"]["complete"] and len(low["tensors"]) > 150_000
    assert share < 0.98 or lines, done.stderr


def test_a_dump_comes_before_a_request_that_is_larger_than_what_is_left(tmp_path, group):
    group, limit = group
    done = in_group(tmp_path, group, "until_killed", 100 * MEBIBYTE, low_memory="5%", exit="never", quiet=1)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (dump,) = near(tmp_path)
    known = dump_reader.failure(dump)
    assert known.requested >= 100 * MEBIBYTE and known.left_bytes < limit // 20


def grow(folder, *arguments, **options):
    done = harness.run("growth.py", *arguments, folder=folder, dump_at_growth="32M", exit="never", quiet=1, **options)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout == "grown\n"
    return [path.name.split(".")[-2] for path in harness.dumps(folder)]


def test_after_a_kill_the_last_dumps_at_growth_are_there(tmp_path):
    assert grow(tmp_path, growth_keep=2) == ["growth-4", "growth-5"]
    exported = harness.load(harness.dumps(tmp_path)[-1])
    assert exported["process"]["trigger"] == "growth"
    # The program runs on: a dump at a peak may come before there is a tensor in the block that made it.
    assert [tensor["shape"] for tensor in exported["tensors"]].count([40 * MEBIBYTE]) >= 4
    assert [item["nbytes"] for item in exported["allocations"]].count(40 * MEBIBYTE) == 5


def test_zero_keeps_every_dump_at_growth(tmp_path):
    assert grow(tmp_path, growth_keep=0) == [f"growth-{number}" for number in range(1, 6)]


def test_a_file_of_somebody_else_is_not_deleted(tmp_path):
    assert grow(tmp_path, "mine") == ["growth-1", "growth-3", "growth-4", "growth-5"]
    (kept,) = tmp_path.glob("*.growth-1.tscope")
    assert kept.read_text() == "precious"


def test_without_the_option_growth_makes_no_dump(tmp_path):
    source = "import torch\nkept = [torch.ones(40 << 20, dtype=torch.uint8) for _ in range(3)]\n"
    assert harness.run_source(source, folder=tmp_path, exit="never").returncode == 0
    assert not harness.dumps(tmp_path)


@harness.needs_fake_cuda
def test_growth_is_that_of_all_devices_together(tmp_path, monkeypatch):
    harness.use_fake_cuda(monkeypatch)
    done = harness.run("cuda_growth.py", folder=tmp_path, dump_at_growth="32M", growth_keep=0, fake_cuda_devices=2, exit="never")
    assert done.returncode == 0, done.stderr
    dumps = harness.dumps(tmp_path)
    assert [path.name.split(".")[-2] for path in dumps] == [f"growth-{number}" for number in (1, 2, 3, 4)]
    live = [sum(row["live_bytes"] for row in harness.load(dump)["totals"]["devices"]) for dump in dumps]
    assert all(later - earlier >= 32 * MEBIBYTE for earlier, later in zip([0, *live], live))
