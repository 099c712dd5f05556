# SPDX-License-Identifier: Apache-2.0
"""timeline of a CUDA device (on the double): reserved and free memory over time, against torch's own numbers."""
# Covers: analyzer/timeline/fragmentation.cc

import json

import harness
import pytest

MEBIBYTE = 1 << 20

pytestmark = harness.needs_fake_cuda

FRAGMENTS = """
import json, torch
M = 1 << 20
blocks = [torch.empty(12 * M, dtype=torch.uint8, device="cuda") for _ in range(10)]
peak = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
del blocks[::2]
free = sorted(b["size"] for s in torch.cuda.memory_snapshot() for b in s["blocks"] if b["state"] == "inactive")
json.dump({"peak": peak, "free": free, "reserved": torch.cuda.memory_reserved()}, open("truth.json", "w"))
torch.zeros(3)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("device")
    with pytest.MonkeyPatch.context() as patch:
        harness.use_fake_cuda(patch)
        done = harness.run_source(FRAGMENTS, folder=folder, record=1, exit="never")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.recording")), harness.truth(folder, "truth")


def test_reserved_and_free_memory_are_torchs(run):
    recording, truth = run
    found = json.loads(harness.cli("timeline", recording, "--json").stdout)
    assert found["device"] == "cuda:0"
    curve = next(c for c in found["curves"] if c["device"] == "cuda:0")
    assert curve["peak_bytes"] == curve["allocated_at_peak"] == truth["peak"][1] == 120 * MEBIBYTE
    assert curve["reserved_at_peak"] == curve["free_at_peak"]["reserved"] == truth["peak"][0]
    assert curve["reserved_peak"] == max(curve["reserved"]) == truth["reserved"]
    assert curve["reserved_at_peak"] - curve["allocated_at_peak"] == curve["free_at_peak"]["free"]
    fragmented = [at for at in curve["free_memory"] if at["free"] == sum(truth["free"])]
    assert fragmented and fragmented[-1]["largest_free"] == truth["free"][-1]
    text = harness.cli("timeline", recording).stdout
    assert "Reserved by the allocator of cuda:0" in text and "Fragmentation: at the peak" in text
