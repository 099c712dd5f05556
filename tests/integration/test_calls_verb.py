# SPDX-License-Identifier: Apache-2.0
"""Calls of modules of a whole program: the tree that torchspy drew, and what it could not show (docs/seeds.md, S13 to S27)."""

import json
import pathlib
import shutil
import subprocess

import harness
import pytest

pytest.importorskip("flatbuffers")

SOURCE = """
import threading
import torch
from torch import nn

class Experts(nn.Module):
    def __init__(self, used):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.used = used
    def forward(self, x):
        for index in self.used:
            x = self.experts[index](x)
        return x

class Block(nn.Module):
    def __init__(self, used):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(4), Experts(used)
    def forward(self, x):
        return self.mlp(self.norm(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block(used) for used in ([0], [1, 2]))
        self.wide = nn.ModuleList(nn.ReLU() for _ in range(12))
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for relu in self.wide:
            x = relu(x)
        return self.head(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
try:
    net(torch.ones(2, 5))
except RuntimeError:
    pass
thread = threading.Thread(target=lambda: net(torch.ones(2, 4)))
thread.start()
thread.join()
print(torch.rand(1).item(), [len(module._forward_hooks) for module in net.modules()])
"""


def calls(*arguments):
    return subprocess.run([str(harness.CLI), "calls", *map(str, arguments)], capture_output=True, text=True, timeout=harness.TIMEOUT)


def answered(*arguments):
    done = calls(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("called")
    path = folder / "program.py"
    path.write_text(SOURCE)
    done = subprocess.run([str(harness.CLI), "run", "--calls", "--dir", str(folder), "--", harness.PYTHON, str(path)], cwd=folder,
                          env=harness.environment(folder, preload=False), capture_output=True, text=True, timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stderr
    (values,) = pathlib.Path(folder).glob("*.values")
    return values, done.stdout


def test_the_program_is_as_without(recorded, tmp_path):
    """Without any hook of ours in its modules."""
    torch_line = harness.run_source(SOURCE.replace("net = Net()", "net = Net(); torch.manual_seed(7)"), folder=tmp_path, preload=False)
    mine = harness.run_source(SOURCE.replace("net = Net()", "net = Net(); torch.manual_seed(7)"), folder=tmp_path, exit="never", calls=1)
    assert mine.stdout == torch_line.stdout and "[0, 0" in mine.stdout


def test_the_order_of_calls_parents_first(recorded):
    sequence = json.loads(answered(recorded[0], "--json", "--order", "--step", "1"))["sequence"]
    forward = [call["module"] for call in sequence if not call["backward"]]
    assert forward[:7] == ["net", "net.layers.0", "net.layers.0.norm", "net.layers.0.mlp", "net.layers.0.mlp.experts.0",
                           "net.layers.1", "net.layers.1.norm"]
    assert forward[-1] == "net.head" and [call["begin_ns"] for call in sequence] == sorted(call["begin_ns"] for call in sequence)
    assert all(call["end_ns"] >= call["begin_ns"] and call["class"] and call["site"] for call in sequence if not call["backward"])


def test_a_forward_that_raises_is_there(recorded):
    sequence = json.loads(answered(recorded[0], "--json", "--order"))["sequence"]
    raised = [call["module"] for call in sequence if call["raised"]]
    assert raised == ["net", "net.layers.0", "net.layers.0.norm"]
    assert "raised: net.layers.0.norm (LayerNorm)" in answered(recorded[0])


def test_another_thread_is_there(recorded):
    sequence = json.loads(answered(recorded[0], "--json", "--order"))["sequence"]
    threads = {}
    for call in sequence:
        if call["module"] == "net" and not call["backward"]:
            threads[call["thread"]] = threads.get(call["thread"], 0) + 1
    assert sorted(threads.values()) == [1, 4]


def nodes(tree):
    for node in tree:
        yield node
        yield from nodes(node["children"])


def test_numbers_are_counted_for_each_parent_in_numeric_order(recorded):
    tree = json.loads(answered(recorded[0], "--json"))["tree"]
    experts = [node for node in nodes(tree) if node["name"] == "experts"]
    assert [node["indices"] for node in experts] == [[0], [1, 2]]
    (wide,) = [node for node in nodes(tree) if node["name"] == "wide"]
    assert wide["indices"] == list(range(12)) and wide["label"] == "wide.0..11 x 12" and wide["count"] == 12 * 4
    (root,) = tree
    assert root["name"] == "net" and root["count"] == 5 and root["raised"] == 1
    assert [child["name"] for child in root["children"]] == ["layers", "layers", "wide", "head"]
    flat = json.loads(answered(recorded[0], "--json", "--no-fold"))["tree"]
    assert len([node for node in nodes(flat) if node["class"] == "ReLU"]) == 12


def test_leaves_are_cut_and_rows_above_keep_their_numbers(recorded):
    whole = {node["path"]: node["count"] for node in nodes(json.loads(answered(recorded[0], "--json"))["tree"])}
    pruned = {node["path"]: node["count"] for node in nodes(json.loads(answered(recorded[0], "--json", "--prune"))["tree"])}
    assert "net.head" in whole and "net.head" not in pruned and "net.layers.0.mlp" in pruned
    assert all(whole[path] == count for path, count in pruned.items())


def test_equal_names_are_one_and_counts_add_up(recorded):
    squashed = json.loads(answered(recorded[0], "--json", "--squash"))["squashed"]
    counts = {node["name"]: node["count"] for node in squashed["nodes"]}
    assert counts["experts"] == 3 * 4 and counts["mlp"] == 2 * 4 and counts["net"] == 5
    assert len(squashed["nodes"]) == len(counts)


def test_the_order_stands_on_the_edges(recorded):
    dot = answered(recorded[0], "--format", "dot", "--order", "--step", "0")
    assert dot.startswith("digraph") and 'label="net\\n' in dot and '[label="3..14"]' in dot and '[label="15"]' in dot


def test_pictures(recorded, tmp_path):
    if shutil.which("dot") is None:
        pytest.skip("no Graphviz")
    answered(recorded[0], "-o", tmp_path / "calls.svg")
    assert "<svg" in (tmp_path / "calls.svg").read_text() and ">net<" in (tmp_path / "calls.svg").read_text()
    sizes = []
    for dpi in (50, 200):
        answered(recorded[0], "-o", tmp_path / "calls.png", "--force", "--dpi", dpi, "--width", "4", "--height", "3")
        data = (tmp_path / "calls.png").read_bytes()
        assert data.startswith(b"\x89PNG")
        sizes.append((int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")))
    assert sizes[1][0] == pytest.approx(4 * sizes[0][0], rel=0.1) and sizes[1] == pytest.approx((800, 600), rel=0.1)
    assert calls(recorded[0], "-o", tmp_path / "calls.png").returncode == 2  # it is there already


PHASES = {"X": {"ts", "dur", "cat"}, "M": {"args"}, "C": {"ts", "args"}, "b": {"ts", "id2", "cat"}, "e": {"ts", "id2", "cat"}}


def test_the_trace_is_as_its_format_says(recorded, tmp_path):
    """Chrome's trace event format, which Perfetto reads: what each phase needs, calls of a thread within each other."""
    answered(recorded[0], "-o", tmp_path / "run.trace.json")
    trace = json.loads((tmp_path / "run.trace.json").read_text())
    assert trace["displayTimeUnit"] == "ms"
    open_events, tracks = {}, {}
    for event in trace["traceEvents"]:
        assert {"ph", "pid", "tid", "name"} <= event.keys() and PHASES[event["ph"]] <= event.keys()
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["name"], str)
        assert event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        if event["ph"] in "be":
            key = event["cat"], event["id2"]["local"]
            open_events[key] = open_events.get(key, 0) + (1 if event["ph"] == "b" else -1)
        if event["ph"] == "C":
            assert all(isinstance(number, (int, float)) for number in event["args"].values())
    assert not any(open_events.values()) and len(tracks) >= 3  # two threads, and the steps
    for spans in tracks.values():
        around = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1] + 0.001
            around.append(end)
    sequence = json.loads(answered(recorded[0], "--json", "--order"))["sequence"]
    named = [event for event in trace["traceEvents"] if event.get("cat") in ("forward", "backward") and event["ph"] in "Xb"]
    assert len(named) == len(sequence)
    assert any(event["args"].get("raised") for event in named)


def test_files_without_calls_and_missing_files_are_errors(recorded, tmp_path):
    assert calls(tmp_path / "none.values").returncode == 2
    source = "import torch\nmodel = torch.nn.Linear(2, 2)\nmodel(torch.ones(2))\n"
    assert harness.run_source(source, folder=tmp_path, exit="never", watch="model").returncode == 0
    (path,) = tmp_path.glob("*.values")
    done = calls(path)
    assert done.returncode == 2 and "tensorscope run --calls" in done.stderr
    assert calls(recorded[0], "--step", "99").returncode == 2
