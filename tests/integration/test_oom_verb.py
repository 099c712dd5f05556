# SPDX-License-Identifier: Apache-2.0
"""`tensorscope oom` on dumps of programs that really ran out of memory: its sums against torch's own numbers, to the byte."""

# Covers: analyzer/text/oom/{phrases,balance_phrases}.cc
import json
import os

import pytest

import harness

MEBIBYTE = 1 << 20


@pytest.fixture(scope="module", params=["cpu", harness.CUDA])
def failed(request, tmp_path_factory):
    """The device, what the program says, the dump of the failure, and the one before."""
    folder = tmp_path_factory.mktemp("failed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(harness.ROOT / "include" / "tensorscope"))
        patch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)
        if request.param == "cuda":
            harness.use_fake_cuda(patch)
        done = harness.run("oom_story.py", request.param, folder=folder, exit="never", fake_cuda_capacity=1 << 30)
    assert done.returncode == 0, done.stderr
    dumps = harness.dumps(folder)
    oom = next(dump for dump in dumps if ".oom" in dump.name)
    return request.param, json.loads(done.stdout), oom, next(dump for dump in dumps if dump != oom)


def told(dump, *arguments):
    return json.loads(harness.cli("oom", dump, "--json", *arguments).stdout)


def parts(tree):
    yield tree
    for below in tree["parts"]:
        yield from parts(below)


def part(answer, name):
    return next((one for one in parts(answer["balance"]) if one["name"] == name), None)


def remedy(answer, kind, subject=""):
    return next((one for one in answer["remedies"] if one["kind"] == kind and one["subject"].startswith(subject)), None)


def test_every_sum_agrees(failed):
    compared = 0
    for one in parts(told(failed[2])["balance"]):
        below = [part["bytes"] for part in one["parts"]]
        if below and one["bytes"] is not None and None not in below:
            assert sum(below) == one["bytes"], one["name"]
            compared += 1
    assert compared >= 3


def test_the_allocators_own_numbers_to_the_byte(failed):
    device, facts, dump, _ = failed
    answer = told(dump)
    if device == "cpu":
        exported = harness.load(dump)
        live = next(row["live_bytes"] for row in exported["totals"]["devices"] if row["device"] == "cpu")
        assert part(answer, "torch")["bytes"] == live == sum(row["nbytes"] for row in exported["allocations"])
        assert not [one for one in part(answer, "torch")["parts"] if one["name"] == "unexplained"]
        return
    assert part(answer, "allocated")["bytes"] == facts["allocated"]
    assert part(answer, "reserved")["bytes"] == facts["reserved"]
    assert part(answer, "cached")["bytes"] == answer["cached"]["bytes"] == facts["reserved"] - facts["active"]
    assert part(answer, "waiting")["bytes"] == facts["active"] - facts["allocated"]
    assert part(answer, "device")["bytes"] == facts["total"]
    assert part(answer, "free")["bytes"] == facts["free"]
    assert not [one for one in parts(part(answer, "reserved")) if one["name"] == "unexplained"]


def test_what_failed_and_where(failed):
    device, facts, dump, _ = failed
    answer = told(dump)
    assert answer["failure"]["requested"] == answer["answer"]["request"] == facts["request"]
    assert answer["failure"]["at"]["function"].endswith("ask_for_too_much")
    assert answer["failure"]["at"]["source"].startswith("return torch.empty(nbytes")
    assert answer["answer"]["device"] == {"cpu": "cpu", "cuda": "cuda:0"}[device]
    first = harness.cli("oom", dump, env={**os.environ, "COLUMNS": "110"}).stdout.splitlines()[:5]
    assert first[0].startswith("out of memory on " + {"cpu": "the host", "cuda": "cuda:0"}[device] + " while asking for ")
    assert "ask_for_too_much" in first[1]
    assert first[4].startswith("  first to try: ")


def test_what_would_make_room(failed):
    device, _, dump, _ = failed
    answer = told(dump)
    assert remedy(answer, "collect-garbage")["bytes"] == 12 * MEBIBYTE
    assert remedy(answer, "drop-holder", "oom_story.py: losses[0..3]")["bytes"] == 16 * MEBIBYTE
    assert remedy(answer, "checkpoint")["subject"] == "model.*"
    # tanh's result and the input of the second linear layer are one tensor; the inputs of the blocks stay
    assert remedy(answer, "checkpoint")["bytes"] == 4 * 4 * MEBIBYTE
    assert "batch norm" not in remedy(answer, "checkpoint")["price"]["words"]  # the modules have none
    expandable = remedy(answer, "expandable-segments")
    assert (expandable is not None) == (device == "cuda")
    if expandable:
        assert "PYTORCH_ALLOC_CONF=expandable_segments:True" in expandable["takes"] and expandable["fits"] == "may"
        assert remedy(answer, "empty-cache") is None or remedy(answer, "empty-cache")["fits"] != "yes"


def test_what_grew_since_an_earlier_dump(failed):
    _, _, dump, before = failed
    growth = told(dump, before)["growth"]
    assert growth["since"] == str(before) and growth["bytes"][1] > growth["bytes"][0]
    assert any("oom_story.py" in place["where"] and place["bytes"][1] - place["bytes"][0] >= 12 * MEBIBYTE
               for place in growth["places"])


def test_a_dump_without_a_failure(failed):
    _, _, _, before = failed
    answer = told(before)
    assert answer["failure"] is None and answer["answer"]["request"] is None
    assert {one["fits"] for one in answer["remedies"]} == {"unknown"}
    assert harness.cli("oom", before).stdout.startswith("nothing has failed in this dump")
