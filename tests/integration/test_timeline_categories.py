# SPDX-License-Identifier: Apache-2.0
"""timeline: live bytes by category, memory by source line, pictures, free memory of a device, against the moments' dumps."""
# Covers: analyzer/cli/timeline_plot.cc analyzer/cli/plot_file.cc analyzer/export/pictures/timeline_charts.cc
# Covers: analyzer/text/timeline/plot.cc analyzer/text/dump/line_memory.cc analyzer/timeline/source_memory.cc

import json
import os
import re
import shutil
import xml.dom.minidom

import harness
import pytest

TRAINING = """
import time, torch, libtensorscope
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.Adam(model.parameters())
kept = []
def remember(loss):
    kept.append(torch.zeros(5000))
for step in range(6):
    batch = torch.randn(32 * (3 if step == 4 else 1), 64)
    loss = model(batch).square().mean()
    remember(loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 2:
        libtensorscope.dump()
    time.sleep(0.1)  # each step has room in a plot over time, however long what stands before the first one takes
spike = torch.zeros(250_000)
del spike
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    done = harness.run_source(TRAINING, folder=folder, record=1, exit="never")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.recording"))


def timeline(path, *options):
    return json.loads(harness.cli("timeline", path, "--json", *options).stdout)


def curve(found, device="cpu"):
    return next(c for c in found["curves"] if c["device"] == device)


def test_categories_add_up_and_are_those_of_the_moment(recording):
    found = timeline(recording)
    cpu = curve(found)
    for i, highest in enumerate(cpu["highest"]):
        assert sum(points[i] for points in cpu["categories"].values()) == highest
    assert sum(cpu["peak_by_category"].values()) == cpu["peak_bytes"]
    parameters = sum(p.numel() * 4 for p in __import__("torch").nn.Linear(64, 64).parameters()) + (64 * 8 + 8) * 4
    assert cpu["peak_by_category"]["parameter"] == parameters
    assert max(cpu["categories"]["gradient"]) == parameters
    at = json.loads(harness.cli("export", f"{recording}@peak", "--format", "json").stdout)
    assert sum(a["nbytes"] for a in at["allocations"]) == cpu["peak_bytes"]
    storages = {s["id"]: s["nbytes"] for s in at["storages"]}
    by_category = {}
    for storage, category in {t["storage"]: t["category"] for t in at["tensors"] if t["storage"] is not None}.items():
        by_category[category] = by_category.get(category, 0) + storages[storage]
    for category in ("parameter", "optimizer state", "container"):
        assert by_category[category] == cpu["peak_by_category"][category], category
    assert all(sum(step["peak_by_category"].values()) == step["peak_bytes"] for step in found["steps"])
    assert {"gradient", "backward temporary"} <= {name for step in found["steps"] for name in step["peak_by_category"]}


def test_the_plot_has_steps_and_a_legend(recording):
    text = harness.cli("timeline", recording, env={**os.environ, "COLUMNS": "114"}).stdout
    assert re.search(r"^  P  parameter +18\.3 KiB", text, re.M)
    assert re.search(r"^  O  optimizer state +36\.6 KiB", text, re.M)
    assert "steps 0 to 6" in text and "┴" in text
    assert re.search(r"│.*O", text), text
    assert re.search(r"976\.6 KiB .*\n? *976\.6 KiB +program.py:18", text), text  # the spike and what it was


def test_memory_beside_source_lines(recording):
    lines = {row["line"]: row for row in timeline(recording, "--lines")["lines"]}
    assert lines[7]["peak_bytes"] == 6 * 20_000
    assert lines[11]["peak_bytes"] == 6 * 20_000  # the call of the function
    assert lines[18]["peak_bytes"] == 1_000_000 and lines[18]["live_at_end"] == 0
    assert 10 in lines and 13 in lines
    text = harness.cli("timeline", recording, "--lines", "program.py", env={**os.environ, "COLUMNS": "200"}).stdout
    assert re.search(r"976\.6 KiB +- +.* 18  spike = torch.zeros\(250_000\)", text), text
    assert timeline(recording, "--lines", "gram.py")["lines"] == []
    assert "No line of this file" in harness.cli("timeline", recording, "--lines", "nothing.py").stdout


@pytest.mark.parametrize("kind", ["svg", "html", "png"])
def test_pictures(recording, tmp_path, kind):
    if kind == "png" and not shutil.which("dot"):
        pytest.skip("needs Graphviz")
    picture = tmp_path / f"memory.{kind}"
    assert "2 charts" in harness.cli("timeline", recording, "--plot", picture).stdout
    data = picture.read_bytes()
    if kind == "png":
        assert data.startswith(b"\x89PNG")
        return
    text = data.decode()
    drawing = xml.dom.minidom.parseString(text[text.index("<svg"):text.index("</svg>") + 6])
    words = " ".join(node.firstChild.data for node in drawing.getElementsByTagName("text") if node.firstChild)
    assert "live bytes on cpu: peak" in words and "parameter" in words and "optimizer state" in words
    assert len(drawing.getElementsByTagName("polygon")) >= 6
    assert "exists" in harness.cli("timeline", recording, "--plot", picture, status=2).stderr
    harness.cli("timeline", recording, "--plot", picture, "--force")


def test_pictures_of_other_kinds_are_refused(recording, tmp_path):
    assert ".svg, .html or .png" in harness.cli("timeline", recording, "--plot", tmp_path / "x.pdf", status=2).stderr
