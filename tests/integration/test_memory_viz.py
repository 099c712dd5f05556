# SPDX-License-Identifier: Apache-2.0
"""Exports for PyTorch's memory viewer: what torch's own functions and the viewer make of them, against the JSON export."""
import base64
import json
import os
import pathlib
import pickle
import pickletools
import re
import subprocess
import sys

import pytest

import harness
import memory_viewer
from torch.cuda import _memory_viz  # Python alone: works without a device

# The opcodes of function unpickle in torch/utils/viz/MemoryViz.js.
VIEWERS_OPCODES = {
    "APPEND", "APPENDS", "BINFLOAT", "BINGET", "BININT", "BININT1", "BININT2", "BINPUT", "BINUNICODE", "DICT", "EMPTY_DICT",
    "EMPTY_LIST", "EMPTY_TUPLE", "FRAME", "LIST", "LONG1", "LONG_BINGET", "LONG_BINPUT", "MARK", "MEMOIZE", "NEWFALSE", "NEWTRUE",
    "NONE", "PROTO", "SETITEM", "SETITEMS", "SHORT_BINUNICODE", "STOP", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"}
SEGMENT = {"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type",
           "segment_pool_id", "is_expandable", "frames", "blocks"}
BLOCK = {"address", "size", "requested_size", "state", "frames"}


class Exported:
    """One dump, as both formats have it."""

    def __init__(self, dump, folder):
        self.file = pathlib.Path(folder) / f"{pathlib.Path(dump).name}.pickle"
        harness.cli("export", dump, "--format", "memory-viz", "-o", self.file)
        self.bytes = self.file.read_bytes()
        self.snapshot = pickle.loads(self.bytes)
        self.json = harness.load(dump)
        self.names = self.snapshot["tensorscope"]["devices"]

    def segments(self, device):
        return [segment for segment in self.snapshot["segments"] if segment["device"] == self.names.index(device)]

    def trace(self, device):
        return self.snapshot["device_traces"][self.names.index(device)]

    def allocations(self, device):
        return [row for row in self.json["allocations"] if row["device"] == device]


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    """Two dumps of a leaking run."""
    folder = tmp_path_factory.mktemp("leaking")
    done = harness.run("leak.py", folder=folder)
    assert done.returncode == 0, done.stderr
    return [Exported(harness.truth(folder, name)["dump"], folder) for name in ("10", "30")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    done = harness.run("train_mlp.py", folder=folder)
    assert done.returncode == 0, done.stderr
    return Exported(harness.truth(folder)["dump"], folder)


def as_documented(exported):
    """Keys and types, and the sums of each segment (docs/memory-viz.md)."""
    snapshot = exported.snapshot
    assert list(snapshot) == ["segments", "device_traces", "allocator_settings", "external_annotations", "tensorscope"]
    assert len(snapshot["device_traces"]) == len(exported.names)
    for segment in snapshot["segments"]:
        assert set(segment) == SEGMENT and type(segment["segment_pool_id"]) is tuple
        sizes = {state: 0 for state in ("active_allocated", "active_pending_free", "inactive")}
        address = segment["address"]
        for block in segment["blocks"]:
            assert set(block) == BLOCK and block["address"] == address
            assert 0 <= block["requested_size"] <= block["size"]
            sizes[block["state"]] += block["size"]
            address += block["size"]
        assert address == segment["address"] + segment["total_size"]
        assert segment["allocated_size"] == sizes["active_allocated"]
        assert segment["active_size"] == segment["allocated_size"] + sizes["active_pending_free"]
    for device, trace in enumerate(snapshot["device_traces"]):
        assert [event["time_us"] for event in trace] == sorted(event["time_us"] for event in trace)
        assert trace[-1:] == [] or trace[-1]["action"] == "snapshot"
        blocks = {block["address"]: block for segment in snapshot["segments"] if segment["device"] == device
                  for block in segment["blocks"]}
        for event in trace:
            if event["action"] == "alloc":
                block = blocks[event["addr"]]
                assert (block["state"], block["requested_size"]) == ("active_allocated", event["size"])
                assert block["frames"] is event["frames"]  # written once


def test_a_dump_of_the_cpu_is_as_documented(trained, leaking):
    for exported in (trained, *leaking):
        as_documented(exported)
        assert exported.names == ["cpu"] and len(exported.trace("cpu")) > 10
        assert exported.snapshot["tensorscope"]["dump"].endswith(".tscope")


def test_no_block_of_the_cpu_is_lost(trained, leaking):
    for exported in (trained, *leaking):
        total = next(row for row in exported.json["totals"]["devices"] if row["device"] == "cpu")
        blocks = [(block["address"], block["size"]) for segment in exported.segments("cpu") for block in segment["blocks"]]
        assert sorted(blocks) == sorted((row["pointer"], row["nbytes"]) for row in exported.allocations("cpu") if row["nbytes"])
        assert sum(size for _, size in blocks) == total["live_bytes"] > 0


def test_frames_are_those_of_the_json(trained):
    stacks = {row["id"]: row["frames"] for row in trained.json["stacks"]}
    rows = {row["pointer"]: row for row in trained.allocations("cpu")}
    seen = 0
    for segment in trained.segments("cpu"):
        frames, wanted = segment["blocks"][0]["frames"], stacks[rows[segment["address"]]["site"]]
        assert [frame["line"] for frame in frames] == [frame["line"] or 0 for frame in wanted]
        assert [frame["name"] for frame in frames] == [frame["function"] or "??" for frame in wanted]
        assert [frame["filename"] for frame in frames] == [frame["file"] or frame["module"] or "??" for frame in wanted]
        seen += any(frame["filename"].endswith("train_mlp.py") for frame in frames)
    assert seen > 10


def test_events_say_what_the_memory_is_for(trained):
    tensors = {tensor["storage"]: tensor for tensor in trained.json["tensors"] if not tensor["is_view"]}
    storages = {row["allocation"]: tensors[row["id"]] for row in trained.json["storages"] if row["id"] in tensors}
    rows = {row["pointer"]: storages.get(row["id"]) for row in trained.allocations("cpu")}
    categories = set()
    for event in trained.trace("cpu"):
        tensor = rows.get(event["addr"])
        if event["action"] == "alloc" and tensor is not None:
            assert event["category"] == tensor["category"]
            categories.add(event["category"])
    assert {"parameter", "gradient", "optimizer state"} <= categories
    assert any(event.get("user_metadata", "").endswith("model.0.weight") for event in trained.trace("cpu"))
    # Viewers that know one category fail without this one.
    assert any(event.get("category") == "unknown" for event in trained.trace("cpu"))


def test_the_viewers_opcodes_alone(trained, leaking):
    for exported in (trained, *leaking):
        opcodes = {opcode.name for opcode, _, _ in pickletools.genops(exported.bytes)}
        assert opcodes <= VIEWERS_OPCODES, opcodes - VIEWERS_OPCODES


def folded(text):
    """Bytes of each state, from lines that end in a number."""
    sums = {}
    for line in text.splitlines():
        frames, size = line.rsplit(" ", 1)
        state = next(part for part in frames.split(";") if part.startswith(("active", "inactive")))
        sums[state] = sums.get(state, 0) + int(size)
    return sums


def by_state(snapshot):
    sums = {}
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            sums[block["state"]] = sums.get(block["state"], 0) + block["size"]
    return sums


def torchs_functions_work(exported):
    """Every function of torch.cuda._memory_viz that takes a snapshot; they check sums themselves."""
    snapshot = exported.snapshot
    summary = _memory_viz.segsum(snapshot)
    assert f"segments: {len(snapshot['segments'])}\n" in summary
    reserved = sum(segment["total_size"] for segment in snapshot["segments"])
    assert f"total_reserved: {_memory_viz.Bytes(reserved)}\n" in summary
    for function in (_memory_viz.segments, _memory_viz.memory):
        assert folded(function(snapshot, lambda text: text)) == by_state(snapshot)
    lines = _memory_viz.trace(snapshot)
    allocs = sum(event["action"] == "alloc" for trace in snapshot["device_traces"] for event in trace)
    assert len(re.findall(r"^\w+ = \w+\[", lines, re.MULTILINE)) == allocs
    for page in (_memory_viz.trace_plot(snapshot), _memory_viz.trace_plot(snapshot, plot_segments=True),
                 _memory_viz.trace_plot(snapshot, filter_freed=True), _memory_viz.segment_plot(snapshot)):
        files = json.loads(re.search(r"const local_files = (.*)", page).group(1))
        assert pickle.loads(base64.b64decode(files[0]["base64"])) == snapshot


def test_torchs_functions(trained, leaking):
    for exported in (trained, *leaking):
        torchs_functions_work(exported)


def test_torch_compares_two_exports(leaking, capsys):
    before, after = (exported.snapshot["segments"] for exported in leaking)
    text = _memory_viz.compare(before, after, lambda text: text)
    new = {(segment["address"], segment["total_size"]) for segment in after} - {
        (segment["address"], segment["total_size"]) for segment in before}
    assert len(new) > 10 and text.count("only_after") >= len(new)
    assert "only_after" in capsys.readouterr().out


def test_torchs_program_reads_the_file(trained, tmp_path):
    def run(*arguments):
        return subprocess.run([sys.executable, _memory_viz.__file__, *map(str, arguments)], capture_output=True, text=True, check=True,
                              timeout=harness.TIMEOUT).stdout

    assert "total_allocated" in run("stats", trained.file)
    assert "TOTAL MEM" in run("trace", trained.file)
    for action in ("trace_plot", "segment_plot"):
        run(action, trained.file, "-o", tmp_path / "out.html")
        assert "add_local_files" in (tmp_path / "out.html").read_text()


def test_a_file_is_written_whole_or_not_at_all(trained, tmp_path):
    dump = pathlib.Path(str(trained.file).removesuffix(".pickle")).name
    source = trained.file.parent / dump
    done = harness.cli("export", source, "--format", "memory-viz", "-o", tmp_path / "nowhere" / "x.pickle", status=2)
    assert done.stderr.count("\n") == 1
    written = subprocess.run([harness.CLI, "export", source, "--format", "memory-viz"], capture_output=True, check=True).stdout
    ours = pickle.loads(written)
    assert ours["segments"] == trained.snapshot["segments"]


def the_viewer_draws(exported):
    """What the viewer shows of each device after the last event is what the export holds."""
    viewer = memory_viewer.Viewer(exported.bytes)
    assert viewer.unpickled == json.loads(json.dumps(exported.snapshot))
    for number, name in enumerate(exported.names):
        segments = exported.segments(name)
        requested = sum(block["requested_size"] for segment in segments for block in segment["blocks"]
                        if block["state"] == "active_allocated")
        pending = sum(block["requested_size"] for segment in segments for block in segment["blocks"]
                      if block["state"] == "active_pending_free")
        reserved = sum(segment["total_size"] for segment in segments)
        timeline = viewer.timeline(number)
        assert timeline["at"][-1:] == ([requested] if requested else [])
        assert timeline["at"] == sorted(timeline["at"])  # it grows: the events are what is alive
        assert viewer.timeline(number, True)["at"][-1:] == ([reserved] if segments else [])
        history = viewer.history(number)
        assert len(history) == len(exported.trace(name))
        assert [row[1:] for row in history[-1:]] == ([[reserved, requested + pending]] if segments else [])
        assert all(row[1] >= row[2] for row in history)
    return viewer


@pytest.mark.skipif(not memory_viewer.FOLDER, reason="TENSORSCOPE_MEMORY_VIZ names no copy of PyTorch's viewer")
def test_the_viewer(trained, leaking):
    for exported in (trained, *leaking):
        viewer = the_viewer_draws(exported)
        assert any(".py:" in text for text in viewer.timeline(0)["about"])
    assert "parameter" in the_viewer_draws(trained).categories


MEBIBYTE = 1 << 20


@pytest.fixture(scope="module", params=["", "expandable_segments:True"])
def on_devices(request, tmp_path_factory):
    """The double of CUDA: the export, torch's own snapshot, and what the program knows."""
    folder = tmp_path_factory.mktemp("devices")
    with pytest.MonkeyPatch.context() as patch:
        harness.use_fake_cuda(patch)
        patch.setenv("PYTORCH_CUDA_ALLOC_CONF", request.param)
        done = harness.run("cuda_viewer.py", folder=folder, fake_cuda_devices=2)
    assert done.returncode == 0, done.stderr
    known = harness.truth(folder)
    return Exported(known["dump"], folder), pickle.loads((folder / "snapshot.pickle").read_bytes()), known


def torchs(segment):
    """A segment without stacks, and without what torch leaves behind in blocks that are free."""
    return {**{key: value for key, value in segment.items() if key in SEGMENT - {"frames", "blocks"}}, "blocks": [
        (block["address"], block["size"], block["state"], block["requested_size"] if block["state"] != "inactive" else 0)
        for block in segment["blocks"]]}


def test_segments_of_a_device_are_torchs_own(on_devices):
    exported, snapshot, known = on_devices
    as_documented(exported)
    assert exported.names[:3] == ["cuda:0", "cuda:1", "cpu"]
    ours = [torchs(segment) for device in ("cuda:0", "cuda:1") for segment in exported.segments(device)]
    theirs = [torchs(segment) for segment in snapshot["segments"]]

    def order(segment):
        return segment["address"]

    assert sorted(ours, key=order) == sorted(theirs, key=order) and len(ours) >= 5
    assert {segment["segment_pool_id"] for segment in ours} == {(0, 0), (0, 1)}
    assert len({segment["stream"] for segment in ours}) == 2
    assert {block[2] for segment in ours for block in segment["blocks"]} == {"active_allocated", "active_pending_free", "inactive"}
    settings = exported.snapshot["allocator_settings"]
    assert {key: snapshot["allocator_settings"][key] for key in settings} == settings


def test_the_keys_are_torchs_own(on_devices):
    exported, snapshot, known = on_devices
    assert set(snapshot) >= set(exported.snapshot) - {"tensorscope"}
    assert set(snapshot["segments"][0]) == SEGMENT and set(snapshot["segments"][0]["blocks"][0]) == BLOCK


def test_blocks_of_a_device_have_their_stacks(on_devices):
    exported, snapshot, known = on_devices
    blocks = {block["address"]: block for segment in exported.segments("cuda:0") for block in segment["blocks"]}
    for pointer in known["facts"]["kept"]:
        frames = [(frame["name"], frame["filename"].rsplit("/", 1)[-1]) for frame in blocks[pointer]["frames"]]
        assert ("take", "cuda_viewer.py") in frames and ("holes", "cuda_viewer.py") in frames
    live = [block for device in ("cuda:0", "cuda:1") for segment in exported.segments(device) for block in segment["blocks"]
            if block["state"] == "active_allocated"]
    assert live and all(block["frames"] for block in live)
    assert {event["addr"] for device in ("cuda:0", "cuda:1") for event in exported.trace(device) if event["action"] == "alloc"} == {
        block["address"] for block in live}


def test_sums_of_devices(on_devices):
    exported, snapshot, known = on_devices
    totals = {row["device"]: row for row in exported.json["totals"]["devices"]}
    for device in ("cuda:0", "cuda:1", "cpu"):
        assert sum(segment["allocated_size"] for segment in exported.segments(device)) == totals[device]["live_bytes"] > 0
    for device in ("cuda:0", "cuda:1"):
        stats = known["facts"]["devices"][device]
        assert sum(segment["total_size"] for segment in exported.segments(device)) == stats["reserved"]
    assert sum(segment["total_size"] for segment in exported.segments("page-locked host memory")) >= 5000 * 4


def test_torchs_functions_on_devices(on_devices):
    torchs_functions_work(on_devices[0])


@pytest.mark.skipif(not memory_viewer.FOLDER, reason="TENSORSCOPE_MEMORY_VIZ names no copy of PyTorch's viewer")
def test_the_viewer_on_devices(on_devices):
    viewer = the_viewer_draws(on_devices[0])
    assert any("cuda_viewer.py" in text for text in viewer.timeline(0)["about"])


def segments_report(dump):
    return harness.cli("report", dump, "--segments", "--top", "0", env={**os.environ, "COLUMNS": "200"}).stdout


def test_the_report_of_segments(on_devices):
    exported, snapshot, known = on_devices
    text = segments_report(known["dump"])
    first, second = text.split("segments of cuda:1")
    assert "from torch's snapshot" in first and "from torch's snapshot" in second
    for device, part in (("cuda:0", first), ("cuda:1", second)):
        segments = exported.segments(device)
        counted = re.search(r"^  reserved +(\S+ MiB) +(\d+) segments?", part, re.MULTILINE)
        reserved = sum(segment["total_size"] for segment in segments)
        assert (counted[1], int(counted[2])) == (f"{reserved / MEBIBYTE:.1f} MiB", len(segments))
        addresses = re.findall(r"^  (0x[0-9a-f]+) .*[#.+w]{40}$", part, re.MULTILINE)
        assert sorted(int(address, 16) for address in addresses) == sorted(segment["address"] for segment in segments)
        free = [block["size"] for segment in segments for block in segment["blocks"] if block["state"] == "inactive"]
        assert f"fragmentation {round(100 * (1 - max(free) / sum(free)))} %" in part
    assert "private pool (0, 1)" in first and "stream 0x" in first


@pytest.mark.parametrize("how", ["cudaMallocAsync", "no caching"])
def test_devices_without_a_cache(how, tmp_path, monkeypatch):
    harness.use_fake_cuda(monkeypatch)
    if how == "no caching":
        monkeypatch.setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")
    else:
        monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")
    done = harness.run_source("import torch, truth\nkept = [torch.ones(100 * n, device='cuda') for n in range(1, 9)]\ntruth.moment()\n",
                              folder=tmp_path)
    assert done.returncode == 0, done.stderr
    dump = harness.truth(tmp_path)["dump"]
    exported = Exported(dump, tmp_path)
    as_documented(exported)
    torchs_functions_work(exported)
    rows = exported.allocations("cuda:0")
    assert len(rows) >= 8
    assert sorted((segment["address"], segment["total_size"]) for segment in exported.segments("cuda:0")) == sorted(
        (row["pointer"], row["nbytes"]) for row in rows)
    text = segments_report(dump)
    assert "from CUDA runtime calls: streams and pools are unknown" in text and "private" not in text


def test_the_failure_is_an_event_of_its_device(tmp_path, monkeypatch):
    harness.use_fake_cuda(monkeypatch)
    done = harness.run_source("import torch\n"
                              "kept = [torch.empty(20 << 20, dtype=torch.uint8, device='cuda') for _ in range(5)]\n"
                              "def too_much():\n    return torch.empty(1 << 30, dtype=torch.uint8, device='cuda')\n"
                              "try:\n    too_much()\nexcept torch.OutOfMemoryError:\n    print('caught')\n", folder=tmp_path)
    assert done.stdout == "caught\n", done.stderr
    dump, = harness.dumps(tmp_path, "*.oom-1.tscope")
    exported = Exported(dump, tmp_path)
    as_documented(exported)
    torchs_functions_work(exported)
    events = exported.trace("cuda:0")
    # The viewer steps back through them: a segment is there before its block.
    assert [event["action"] for event in events] == ["segment_alloc", "alloc"] * 5 + ["oom", "snapshot"]
    failure = events[-2]
    assert failure["size"] == 1 << 30 and 0 < failure["device_free"] < 256 * MEBIBYTE
    assert ("too_much", 4) in [(frame["name"], frame["line"]) for frame in failure["frames"]]
    if memory_viewer.FOLDER:
        text = [row[0] for row in the_viewer_draws(exported).history(0)]
        assert text[-2].startswith("OOM (requested 1.0GiB")
