# SPDX-License-Identifier: Apache-2.0
"""Two runs of whole programs, in processes of their own: `compare` names the first value where they part."""

import json
import pathlib
import subprocess

import harness
import pytest

pytest.importorskip("flatbuffers")

SOURCE = """
import contextlib
import sys
import torch
from torch import nn
seed, layer, dtype, steps = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc, self.drop = nn.LayerNorm(16), nn.Linear(16, 16), nn.Dropout(0.1)
    def forward(self, x):
        normed = self.norm(x)
        wide = self.fc(normed)
        dropped = self.drop(torch.relu(wide))
        return x + dropped

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(4))
        self.head = nn.Linear(16, 1)
    def forward(self, x):
        for each in self.layers:
            x = each(x)
        return self.head(x)

torch.set_num_threads(1)
torch.manual_seed(0)
net = Net()
if layer >= 0:
    with torch.no_grad():
        net.layers[layer].fc.weight[3, 5] += 0.01
data = torch.randn(8, 16)
if dtype == "float64":
    net, data = net.double(), data.double()
autocast = torch.autocast("cpu", torch.bfloat16) if dtype == "autocast" else contextlib.nullcontext()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(steps):
    torch.manual_seed(100 + step if step != 2 else 100 + step + seed)
    with autocast:
        loss = net(data).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
WATCH = "full:net.**,full:gradients:net.head"


def run(folder, *arguments, watch=WATCH, source=SOURCE):
    folder.mkdir()
    done = harness.run_source(source, *map(str, arguments), folder=folder, exit="never", watch=watch, calls=1)
    assert done.returncode == 0, done.stderr
    (path,) = pathlib.Path(folder).glob("*.values")
    return path


def compare(*arguments):
    done = subprocess.run([str(harness.CLI), "compare", *map(str, arguments)], capture_output=True, text=True, timeout=harness.TIMEOUT)
    assert done.returncode in (0, 1), done.stderr
    return done


def answer(*arguments):
    done = compare(*arguments, "--json")
    found = json.loads(done.stdout)
    assert found["equal"] == (done.returncode == 0)
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return run(tmp_path_factory.mktemp("compared") / "base", 0, -1, "float32", 4)


def test_the_same_run_again_is_equal_to_the_bit(base, tmp_path):
    other = run(tmp_path / "again", 0, -1, "float32", 4)
    found = answer(base, other, "--rtol", "0", "--atol", "0")
    assert found["equal"] and found["compared"] == found["by_elements"] > 60 and not found["only_a"]["values"]


def test_one_dropout_seed(base, tmp_path):
    other = run(tmp_path / "seed", 1, -1, "float32", 4)
    found = answer(base, other)
    first = found["first"]
    assert (first["name"], first["step"], first["place"]) == ("net.layers.0.drop", 2, "output")
    assert first["call"]["module"] == "net.layers.0.drop" and first["beyond"] > 0
    assert {before["name"]: before["verdict"] for before in first["before"]}["net.layers.0.fc"] == "equal"
    steps = {step["step"]: step["different"] for step in found["steps"] if step["mode"] == "train"}
    assert steps[0] == steps[1] == 0 and steps[2] > 0 and steps[3] > 0
    text = " ".join(compare(base, other).stdout.split())
    assert text.startswith("different: train step 2: net.layers.0.drop (output) is the first value that differs")


def test_one_changed_layer(base, tmp_path):
    other = run(tmp_path / "layer", 0, 2, "float32", 4)
    first = answer(base, other)["first"]
    assert (first["name"], first["step"]) == ("net.layers.2.fc.weight", 0) or \
        (first["name"], first["step"], first["place"]) == ("net.layers.2.fc", 0, "output")
    assert all(before["verdict"] == "equal" for before in first["before"])


def test_one_dtype(base, tmp_path):
    other = run(tmp_path / "double", 0, -1, "float64", 4)
    found = answer(base, other)
    assert [pair["a"] for pair in found["dtypes"]] == ["float32"] and [pair["b"] for pair in found["dtypes"]] == ["float64"]
    assert found["compared"] > 60
    if not found["equal"]:  # dropout draws other numbers for another dtype
        assert found["first"]["name"].endswith(".drop")
    exact = answer(base, other, "--rtol", "0", "--atol", "0")
    assert not exact["equal"] and exact["first"]["step"] == 0 and exact["first"]["name"].startswith("net.layers.0.")


def test_bfloat16_autocast_against_float32(tmp_path):
    source = SOURCE.replace("nn.Dropout(0.1)", "nn.Identity()")
    plain = run(tmp_path / "plain", 0, -1, "float32", 3, source=source)
    other = run(tmp_path / "autocast", 0, -1, "autocast", 3, source=source)
    found = answer(plain, other)
    assert found["equal"], found["summary"]  # within what bfloat16 rounds
    assert {"a": "float32", "b": "bfloat16"}.items() <= found["dtypes"][0].items()
    exact = answer(plain, other, "--rtol", "1e-5", "--atol", "1e-8")
    assert not exact["equal"] and exact["first"]["name"] == "net.layers.0.fc" and exact["first"]["step"] == 0
    wrong = run(tmp_path / "wrong", 0, -1, "autocast", 3, source=source.replace("torch.relu(", "1.5 * torch.relu("))
    first = answer(plain, wrong)["first"]
    assert first["name"] == "net.layers.0.drop" and {before["name"]: before["verdict"] for before in first["before"]}["net.layers.0.fc"] == "equal"


def test_statistics_alone_find_the_same_layer(base, tmp_path):
    a = run(tmp_path / "a", 0, -1, "float32", 3, watch="net.**")
    b = run(tmp_path / "b", 1, -1, "float32", 3, watch="net.**")
    found = answer(a, b)
    assert found["first"]["name"] == "net.layers.0.drop" and found["first"]["step"] == 2 and found["by_elements"] == 0
    mixed = answer(base, b)
    assert mixed["first"]["name"] == "net.layers.0.drop" and mixed["by_statistics"] > 0


def test_what_one_side_has_alone_is_listed_and_skipped(base, tmp_path):
    source = SOURCE.replace("self.head = nn.Linear(16, 1)", "self.head = nn.Linear(16, 1); self.extra = nn.Identity()")
    source = source.replace("return self.head(x)", "return self.head(self.extra(x))").replace("range(4))", "range(4))")
    longer = run(tmp_path / "longer", 0, -1, "float32", 6, source=source)
    found = answer(base, longer)
    assert found["equal"]
    assert "net.extra" in [name["name"] for name in found["only_b"]["names"]] and not found["only_a"]["names"]
    assert [(steps["first"], steps["last"]) for steps in found["only_b"]["steps"] if steps["mode"] == "train"] == [(4, 5)]


def test_another_root_can_be_renamed(base, tmp_path):
    source = SOURCE.replace("net.", "model.").replace("net(", "model(").replace("net =", "model =").replace("net, data = ", "model, data = ")
    other = run(tmp_path / "renamed", 0, -1, "float32", 4, source=source, watch=WATCH.replace("net", "model"))
    done = subprocess.run([str(harness.CLI), "compare", str(base), str(other)], capture_output=True, text=True)
    assert "--rename" in done.stdout + done.stderr
    assert answer(base, other, "--rename", "model=net")["equal"]
