# SPDX-License-Identifier: Apache-2.0
"""`lower-precision` of `tensorscope oom`, compared with what torch.autocast changes after a forward pass of several models
(tests/remedies/forward_kept.py), on the double of a GPU: types come from the graph alone, so the figure is a close bound where
the program casts nothing itself.

Covers: analyzer/oom/autocast_types.cc"""
import json

import pytest

import harness

PROGRAM = harness.ROOT / "tests" / "remedies" / "forward_kept.py"
MIB = 1 << 20


@pytest.mark.cases(3)
@harness.needs_fake_cuda
@pytest.mark.parametrize("model", ["unet", "t5", "custom", "resnet", "vit", "convnext", "gpt2", "llama"])
def test_what_autocast_gives_after_a_forward_pass(model, tmp_path, monkeypatch):
    harness.use_fake_cuda(monkeypatch)

    def kept(*asked, **options):
        done = harness.run(PROGRAM, model, *asked, folder=tmp_path, fake_cuda_capacity=1 << 36, **options)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split("kept ")[1])

    freed = kept(exit="never") - kept("half", preload=False)
    answer = json.loads(harness.cli("oom", harness.dumps(tmp_path)[0], "--json").stdout)
    found = next(one for one in answer["remedies"] if one["kind"] == "lower-precision")
    assert found["at_most"] and freed <= found["bytes"] <= freed + max(0.12 * freed, 2 * MIB), f"{freed} of {found['bytes']}"
    assert found["between"][0] <= freed and found["between"][1] == found["bytes"], f"{freed} of {found['between']}"
