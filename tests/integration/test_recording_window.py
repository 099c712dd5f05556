# SPDX-License-Identifier: Apache-2.0
"""A recording that keeps its last part, the calls that switch recording, and programs that end by _exit."""
# Covers: preload/recording/window.cc preload/collector/api.cc

import re

import pytest

import harness
from test_recording_timeline import ALLOCATION, AT_THE_DUMP, at_the_dump, exported, only_recording, timeline

MANY = """
import torch, libtensorscope
keep = [torch.zeros(100 + i) for i in range(50)]
for i in range(150_000):
    x = torch.zeros(i % 1000 + 1)
    if i % 1000 == 0:
        libtensorscope.mark_step()
        keep.append(x)
"""


def same_live_set(at, dump):
    of = lambda rows, *fields: [tuple(str(row[f]) for f in fields) for row in rows]
    assert of(at["allocations"], *ALLOCATION) == of(dump["allocations"], *ALLOCATION)
    assert of(at["tensors"], "id", "shape", "dtype", "site") == of(dump["tensors"], "id", "shape", "dtype", "site")


def test_the_last_part_of_a_size(tmp_path):
    done = harness.run_source(MANY + AT_THE_DUMP, folder=tmp_path, record=1, record_last="1MiB", exit="never")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.recording*"))) == 1, "no second file is left"
    assert (1 << 18) < only_recording(tmp_path).stat().st_size < (4 << 20)
    at, dump = at_the_dump(tmp_path)
    same_live_set(at, dump)
    assert len(at["tensors"]) == 50 + 150 + 1
    places = lambda exported: sorted(s["allocations_total"] for s in exported["sites"] if s["allocations_total"])
    assert places(at) == places(dump), "what was allocated before the window is counted"
    text = harness.cli("timeline", only_recording(tmp_path)).stdout
    assert re.search(r"events; the last part only, from [0-9.]+ m?s after start on\.$", " ".join(text.split()))
    found = timeline(only_recording(tmp_path))
    assert found["is_last_part"] and found["ended"] and found["lost_events"] == 0
    assert 1000 < found["events"] < 600_000, "not all of them"


def test_a_window_that_is_too_small_is_said(tmp_path):
    source = "import torch\nheld = [torch.zeros(1) for i in range(50_000)]\n" + MANY
    done = harness.run_source(source, folder=tmp_path, record=1, record_last="1MiB", exit="never")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the recording ends here: what is alive at one moment takes more than 3/4 of TENSORSCOPE_RECORD_LAST") == 1
    assert len(list(tmp_path.glob("*.recording*"))) == 1
    assert timeline(only_recording(tmp_path))["events"] > 0


@pytest.mark.parametrize("part", ["10", "min", "10minutes", "0s", "-1h", "1T"])
def test_a_part_that_cannot_be_is_one_line(part):
    done = harness.cli("run", f"--last={part}", "--", "true", status=2)
    assert f"'{part}' is no time or size: write 10min, 2h or 2GiB." in done.stderr


def test_a_part_that_the_library_cannot_read_is_one_line(tmp_path):
    done = harness.run_source("import torch\ntorch.zeros(1)\n", folder=tmp_path, record_last="10KiB")
    assert done.returncode == 0
    assert "invalid value '10KiB' for TENSORSCOPE_RECORD_LAST; expected a time or a size from 1 MiB on" in done.stderr


def test_the_program_switches_it(tmp_path):
    source = """
import torch, libtensorscope
before = torch.zeros(1000)
torch.zeros(555)
libtensorscope.start_recording()
meanwhile = torch.zeros(2000)
torch.zeros(777)
libtensorscope.stop_recording()
torch.zeros(888)
libtensorscope.start_recording()
libtensorscope.start_recording()
torch.zeros(999)
libtensorscope.stop_recording()
libtensorscope.stop_recording()
"""
    done = harness.run_source(source, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    allocated = {site["allocated_bytes"] for site in timeline(only_recording(tmp_path))["sites"]}
    assert {2000 * 4, 777 * 4, 999 * 4} <= allocated
    assert not allocated & {1000 * 4, 555 * 4, 888 * 4}
    shapes = [t["shape"] for t in exported(f"{only_recording(tmp_path)}@end")["tensors"]]
    assert sorted(shapes) == [[1000], [2000]], "torch's undefined tensor is none"
    assert harness.run_source(source, folder=tmp_path, preload=False).returncode != 0, "no such module without the preload"


@pytest.mark.cases(1)
@pytest.mark.parametrize("way", ["os._exit(7)", "os.fork() or os._exit(7)"])
def test_a_program_that_leaves_by_exit_alone_loses_nothing(way, tmp_path):
    source = f"""
import os, torch
keep = [torch.zeros(i + 1) for i in range(200)]
{way}
os.wait()
"""
    done = harness.run_source(source, folder=tmp_path, record=1)
    found = {int(re.search(r"\.(\d+)\.recording", f.name)[1]): timeline(f) for f in tmp_path.glob("*.recording")}
    assert all(one["ended"] for one in found.values()), done.stderr
    first = found[min(found)]
    assert any(site["allocations"] == 200 for site in first["sites"])
    assert len(found) == way.count("fork") + 1, "each process has its own"
