# SPDX-License-Identifier: Apache-2.0
"""A recording of a program that uses a device (the double of CUDA): its moments against dumps written then."""
# Covers: preload/live/runtime_table.cc

import pytest

import harness
from test_recording_timeline import AT_THE_DUMP, at_the_dump

SOURCE = """
import torch
a = torch.zeros(1 << 20, device="cuda")
b = [torch.zeros(1 << 16, device="cuda") for _ in range(50)]
pinned = torch.zeros(5000).pin_memory()
big = torch.zeros(30 << 20, device="cuda")
del b[::2], big
torch.cuda.empty_cache()
c = torch.zeros(3 << 20, device="cuda")
""" + AT_THE_DUMP


def lines_about_memory(path):
    text = harness.cli("report", path).stdout
    return [line for line in text.splitlines() if line.startswith(("  cpu", "  cuda"))]


@pytest.mark.parametrize("late", [False, True])
def test_memory_of_the_device_is_that_of_the_dump(late, under_the_cuda_build, tmp_path):
    source = SOURCE
    if late:  # what was there before comes with the segment
        source = source.replace("pinned =", "import libtensorscope; libtensorscope.start_recording()\npinned =")
    done = harness.run_source(source, folder=tmp_path, record=0 if late else 1, exit="never")
    assert done.returncode == 0, done.stderr
    at, dump = at_the_dump(tmp_path)
    of = lambda rows, *fields: sorted(tuple(str(row[f]) for f in fields) for row in rows)
    fields = ("device", "nbytes", "kind", "runtime_block")
    assert of(at["storages"], *fields) == of(dump["storages"], *fields)
    assert any(row["runtime_block"] is not None for row in at["storages"])
    assert at["totals"]["devices"] == dump["totals"]["devices"]
    process = dump["process"]
    moment = f"{next(tmp_path.glob('*.recording'))}@{(process['dump_ns'] - process['start_ns']) / 1e9:.9f}s"
    there = lines_about_memory(harness.dumps(tmp_path)[0])
    assert lines_about_memory(moment) == there and any("pinned memory" in line for line in there)
