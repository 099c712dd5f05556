# SPDX-License-Identifier: Apache-2.0
"""What TorchScript holds has the names that a person would give it, and its growth is a finding."""

# Covers: preload/python/heap_inspector/rows/script_values.cc

import pytest

import harness
from test_leaks import leaks

PROGRAM = "scripted.py"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripted")
    done = harness.run(PROGRAM, "10,20,30", folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    return harness.dumps(folder)


def test_names_of_what_torchscript_holds(dumps):
    named = {}
    for tensor in harness.load(dumps[-1])["tensors"]:
        for name in tensor["names"]:
            named.setdefault(name.removesuffix(" (local of main)"), []).append(tensor)
    for name, elements in [("net.history[0]", 4096 * 8), ("net.history[29]", 4096 * 8), ("net.cache['k2']", 32), ("net.pairs[1][1]", 32),
                           ("net.sub.state", 30 * 32 + 1), ("net.sub.fc.weight", 64), ("pool.kept[29]", 100), ("made.value()", 33)]:
        tensor, = named[name]
        assert tensor["numel"] == elements, tensor
        assert [holder["kind"] for holder in tensor["holders"]][0] == "python", tensor["holders"]
    assert sum(name.startswith("net.history[") for name in named) == 30
    assert not [name for name in named if "<slot" in name or "._c" in name]
    assert named["net.sub.fc.weight"][0]["category"] == "parameter"


def test_a_list_that_grows_is_a_finding(dumps):
    finding, = leaks(dumps, status=1)["findings"]
    assert finding["kind"] == "container" and "net.history[" in finding["held_by"], finding
    assert finding["bytes"] == 30 * 4096 * 8 * 4
    assert finding["growth"]["bytes"] == [count * 4096 * 8 * 4 for count in (10, 20, 30)]
    assert "net(torch.ones(4, 8)" in finding["made_at"]["source"]


def test_inputs_of_a_checkpoint_are_the_graphs(dumps):
    tensor, = [tensor for tensor in harness.load(dumps[-1])["tensors"] if tensor["numel"] == 57 * 4]
    holders = [holder for holder in tensor["holders"]]
    assert "cpp" not in [holder["kind"] for holder in holders], holders
    assert any("loss" in str(holder) for holder in holders), holders
