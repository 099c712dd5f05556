# SPDX-License-Identifier: Apache-2.0
"""Pictures of values files, and files that are followed while the program writes them."""

# Covers: analyzer/cli/{values_plot,values_follow}.cc analyzer/export/pictures/plot.cc

import pathlib
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree

import harness
import pytest
import torch
import values_reader

pytest.importorskip("flatbuffers")
SVG = "{http://www.w3.org/2000/svg}"

TRAINING = """
import sys
import time
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.bad, self.ragged = torch.nn.Linear(4, 2), torch.nn.Identity(), torch.nn.Identity()
    def forward(self, x, step):
        self.bad(x * float("nan") if step == 5 else x)
        self.ragged(x[:1 + step % 3])
        return self.fc(x)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
steps, pause = int(sys.argv[1]), float(sys.argv[2])
for step in range(steps):
    net(torch.randn(3, 4), step).square().sum().backward()
    optimizer.step()
    time.sleep(pause)
if pause:
    print("done", flush=True)
"""


def values(*arguments):
    return subprocess.run([str(harness.CLI), "values", *map(str, arguments)], capture_output=True, text=True, timeout=harness.TIMEOUT)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    assert harness.run_source(TRAINING, "12", "0", folder=folder, exit="never", watch="net.fc,net.bad").returncode == 0
    (path,) = pathlib.Path(folder).glob("*.values")
    return path


def curves(svg, colour):
    """Points of each curve; a grid's lines have other colours."""
    return [line.attrib["points"].split() for line in xml.etree.ElementTree.fromstring(svg).iter(SVG + "polyline")
            if line.attrib["stroke"] == colour]


def test_a_chart_for_each_name(recorded, tmp_path):
    done = values(recorded, "--plot", tmp_path / "out.svg", "--stat", "mean,absmax")
    assert done.returncode == 0 and "2 charts" in done.stdout, done.stderr
    svg = (tmp_path / "out.svg").read_text()
    words = [text.text for text in xml.etree.ElementTree.fromstring(svg).iter(SVG + "text")]
    assert {"net.fc", "net.bad", "mean", "absmax", "step"} <= set(words)
    assert words.count("×") == 2  # no mean and no largest element in step 5
    for colour in ("#1f77b4", "#d62728"):
        assert sorted(len(curve) for curve in curves(svg, colour)) == [5, 6, 12]
    truth = [value.statistics.mean for value in values_reader.Values(recorded).named("net.fc")]
    (curve,) = [curve for curve in curves(svg, "#1f77b4") if len(curve) == 12]
    drawn = [-float(point.split(",")[1]) for point in curve]
    assert sorted(range(12), key=truth.__getitem__) == sorted(range(12), key=drawn.__getitem__)
    assert values(recorded, "--plot", tmp_path / "out.svg").returncode == 2  # it is there already


def test_html_names_the_points(recorded, tmp_path):
    assert values(recorded, "--plot", tmp_path / "out.html", "--name", "net.fc", "--step", "3-8").returncode == 0
    page = (tmp_path / "out.html").read_text()
    assert re.findall(r"<title>step (\d+): ", page) == ["3", "4", "5", "6", "7", "8"]
    assert "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_png(recorded, tmp_path):
    if shutil.which("dot") is None:
        pytest.skip("no Graphviz")
    done = values(recorded, "--plot", tmp_path / "out.png")
    assert done.returncode == 0, done.stderr
    data = (tmp_path / "out.png").read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 5000
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert width > 1.5 * height  # two charts beside each other


def test_nothing_to_draw_and_unknown_formats(recorded, tmp_path):
    assert ".svg" in values(recorded, "--plot", tmp_path / "out.gif").stderr
    done = values(recorded, "--plot", tmp_path / "out.svg", "--step", "99")
    assert done.returncode == 2 and "nothing to draw" in done.stderr and not (tmp_path / "out.svg").exists()


def started(folder, steps, pause):
    watch = folder / "watch.toml"
    watch.write_text('flush = "100ms"\n[[watch]]\npath = "net.*"\nkeep = ["full", "statistics"]\n')
    source = folder / "program.py"
    source.write_text(TRAINING)
    program = subprocess.Popen([harness.PYTHON, str(source), str(steps), str(pause)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=harness.environment(folder, exit="never", watch=watch), cwd=folder)
    while not (files := list(folder.glob("*.values"))) or files[0].stat().st_size < 1000:
        assert program.poll() is None
        time.sleep(0.05)
    return program, files[0]


def test_a_file_that_grows_is_followed_to_its_end(tmp_path):
    h5py = pytest.importorskip("h5py")
    program, path = started(tmp_path, 40, 0.05)
    live = subprocess.Popen([str(harness.CLI), "values", str(path), "--follow", "--export", str(tmp_path / "live.h5")])
    done = values(path, "--follow", "--name", "net.fc", "--stat", "mean")
    assert done.returncode == 0, done.stderr
    assert program.wait(harness.TIMEOUT) == 0 and live.wait(harness.TIMEOUT) == 0
    recorded = values_reader.Values(path)
    assert recorded.ended
    lines = re.findall(r"^step (\d+) +train +net\.fc +\[3, 2\] +mean (\S+)$", done.stdout, re.MULTILINE)
    expected = recorded.named("net.fc")
    assert [int(step) for step, _ in lines] == [value.step for value in expected] == list(range(40))
    assert [float(mean) for _, mean in lines] == pytest.approx([value.statistics.mean for value in expected], rel=1e-3)
    with h5py.File(tmp_path / "live.h5") as file:
        for name in ("net.fc", "net.bad", "net.ragged"):
            tensors = [recorded.tensor(value) for value in recorded.named(name)]
            assert file[f"{name}/step"][:].tolist() == list(range(40))
            for i, tensor in enumerate(tensors):
                there = tuple(slice(size) for size in tensor.shape)
                assert torch.equal(torch.nan_to_num(torch.from_numpy(file[f"{name}/values"][i][there])), torch.nan_to_num(tensor))
        offsets, flat = file["net.ragged/offsets"][:], file["net.ragged/flat"][:]
        assert len(offsets) == 41 and offsets[-1] == len(flat) == sum(4 * (1 + step % 3) for step in range(40))
        last = recorded.tensor(recorded.named("net.ragged")[39])
        assert torch.equal(torch.from_numpy(flat[offsets[39]:offsets[40]]).reshape(last.shape), last)


def test_following_ends_when_the_process_is_gone(tmp_path):
    program, path = started(tmp_path, 100000, 0.01)
    follower = subprocess.Popen([str(harness.CLI), "values", str(path), "--follow"], stdout=subprocess.PIPE, text=True)
    first = follower.stdout.readline()
    program.send_signal(signal.SIGKILL)
    program.wait()
    rest = follower.stdout.read()
    follower.wait(harness.TIMEOUT)
    assert first.startswith("step 0") and "gone" in rest.splitlines()[-1] and follower.returncode == 0
    shown = len(re.findall(r"^step", first + rest, re.MULTILINE))
    assert f" {shown:,} values" in values(path).stdout


def test_a_reader_that_goes_away_ends_following(tmp_path):
    program, path = started(tmp_path, 100000, 0.01)
    try:
        follower = subprocess.Popen([str(harness.CLI), "values", str(path), "--follow"], stdout=subprocess.PIPE)
        follower.stdout.readline()
        follower.stdout.close()
        follower.wait(harness.TIMEOUT)
    finally:
        program.kill()
        program.wait()
