# SPDX-License-Identifier: Apache-2.0
"""The real CUDA build of torch with its real caching allocator, on the double of the CUDA libraries (scripts/fake-cuda): what the
dump says against what torch's allocator and the program say."""
import os

import pytest

import dump_reader
import harness

MEBIBYTE = 1 << 20

pytestmark = [harness.needs_fake_cuda, pytest.mark.usefixtures("under_the_cuda_build")]


def run(program, folder, **options):
    done = harness.run(program, folder=folder, **options)
    assert done.returncode == 0, done.stderr
    return done


def dumped(folder, moment="1"):
    known = harness.truth(folder, moment)
    return harness.load(known["dump"]), known


@pytest.fixture(scope="module")
def trained(under_the_cuda_build, tmp_path_factory):
    """The training loop on one device: its folder, and how it ended."""
    folder = tmp_path_factory.mktemp("trained")
    return folder, run("cuda_train.py", folder)


@pytest.fixture(scope="module")
def on_two_devices(under_the_cuda_build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("devices")
    return folder, run("cuda_devices.py", folder, fake_cuda_devices=2)


@pytest.fixture(scope="module", params=["", "expandable_segments:True", pytest.param("roundup_power2_divisions:4", marks=pytest.mark.cases(0))])
def harder(under_the_cuda_build, request, tmp_path_factory):
    """The allocator's harder moments, under each of its configurations."""
    folder = tmp_path_factory.mktemp("harder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTORCH_CUDA_ALLOC_CONF", request.param)
        return folder, run("cuda_memory.py", folder)


def totals(exported):
    return {row["device"]: row for row in exported["totals"]["devices"]}


def allocations(exported, device):
    return [item for item in exported["allocations"] if item["device"] == device]


def agrees_with_the_allocator(exported, known, devices=("cuda:0",)):
    """Reports, blocks and sums, each exactly as torch's own."""
    assert harness.coverage(exported)["CUDA memory"].seen == "yes"
    for device in devices:
        stats, total, live = known["facts"]["devices"][device], totals(exported)[device], allocations(exported, device)
        assert total["live_bytes"] == total["allocator_allocated"] == stats["allocated"]
        assert sum(item["nbytes"] for item in live) == stats["allocated"]
        assert (total["allocator_reserved"], total["allocator_reserved_peak"]) == (stats["reserved"], stats["reserved_peak"])
        assert (total["total_count"], total["total_bytes"]) == (stats["made"], stats["bytes_made"])
        assert total["live_count"] == len(live) == stats["made"] - stats["freed"]
        assert total["peak_bytes"] == stats["peak"]
        assert {item["kind"] for item in live} <= {"caching"}


def has_the_allocators_blocks(exported, known, device="cuda:0"):
    live = sorted([item["pointer"], item["nbytes"]] for item in allocations(exported, device))
    assert [pointer for pointer, _ in live] == [address for address, _ in known["facts"]["blocks"][device]]


@pytest.mark.parametrize("program", ["trained", "on_two_devices"])
def test_every_tensor_of_the_program_is_in_the_dump(program, request):
    exported, known = dumped(request.getfixturevalue(program)[0])
    assert sum(str(row.get("device", "")).startswith("cuda") for row in known["tensors"]) >= 4
    harness.compare(exported, known)


def test_a_training_loop_agrees_with_the_allocator(trained):
    exported, known = dumped(trained[0])
    assert known["facts"]["devices"]["cuda:0"]["made"] > 100
    agrees_with_the_allocator(exported, known)
    has_the_allocators_blocks(exported, known)


def test_every_storage_on_the_device_is_one_of_its_blocks(trained):
    exported, known = dumped(trained[0])
    blocks = {item["id"]: item for item in allocations(exported, "cuda:0")}
    storages = {item["id"]: item for item in exported["storages"]}
    with_memory = [storages[tensor["storage"]] for tensor in exported["tensors"]
                   if tensor["device"] == "cuda:0" and tensor["storage"] is not None]
    assert len(with_memory) > 30
    for storage in with_memory:
        block = blocks[storage["allocation"]]
        assert storage["kind"] == "allocator" and block["pointer"] == storage["data_ptr"]
        assert storage["nbytes"] <= block["nbytes"] < storage["nbytes"] + 512  # the allocator's rounding


def test_categories_and_names_on_the_device(trained):
    exported, known = dumped(trained[0])
    tensors, facts = harness.by_address(exported), known["facts"]
    assert all(tensors[facts[name]]["device"] == "cuda:0" for name in ("weight", "gradient", "average", "running", "loss"))
    assert {name: tensors[facts[name]]["category"] for name in ("weight", "gradient", "average", "running")} == {
        "weight": "parameter", "gradient": "gradient", "average": "optimizer state", "running": "buffer"}
    assert tensors[facts["weight"]]["names"][0] == "model.0.weight"
    assert tensors[facts["running"]]["names"][0] == "model.1.running_mean"
    saved = [tensor for tensor in exported["tensors"] if tensor["category"] == "saved activation"]
    assert saved and all(tensor["device"] == "cuda:0" for tensor in saved)
    assert any(tensor["module"] == "model.1" for tensor in saved)


def test_the_backward_thread_of_a_device_knows_its_node(tmp_path):
    done = harness.run_source(
        "import torch, cuda_truth\n"
        "weight = torch.ones(300, 300, device='cuda', requires_grad=True)\n"
        "def forward():\n    return (weight @ weight).relu()\n"
        "forward().sum().backward()\ncuda_truth.moment(gradient=weight.grad._cdata)\n", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    known = harness.truth(tmp_path)
    exported = harness.load(known["dump"])
    agrees_with_the_allocator(exported, known)
    gradient = harness.by_address(exported)[known["facts"]["gradient"]]
    storage = next(item for item in exported["storages"] if item["id"] == gradient["storage"])
    block = next(item for item in exported["allocations"] if item["id"] == storage["allocation"])
    assert block["thread"] != known["pid"]  # the engine's thread of the device
    node = next(item for item in exported["nodes"] if item["id"] == block["node"])
    assert "MmBackward0" in node["name"] or "AddBackward" in node["name"]
    sites, stacks = ({item["id"]: item for item in exported[kind]} for kind in ("sites", "stacks"))
    forward = {"stack": stacks[sites[node["site"]]["stack"]]["frames"]}
    assert ("forward", 4) in [(function, line) for function, _, line in harness.frames(forward)]


def test_the_report_names_the_operation_of_a_backward_thread(trained):
    """There is no Python on a device's backward thread, and every block comes from the same function of the allocator."""
    wide = {**os.environ, "COLUMNS": "300"}
    text = harness.cli("report", harness.truth(trained[0])["dump"], "--by", "site", "--top", "1000", env=wide).stdout
    assert "gradient of model" in text and "at::native" in text
    assert "CUDACachingAllocator" not in text and "at::detail::_empty" not in text


def test_two_devices_are_told_apart(on_two_devices):
    exported, known = dumped(on_two_devices[0])
    agrees_with_the_allocator(exported, known, ("cuda:0", "cuda:1"))
    for device in ("cuda:0", "cuda:1"):
        has_the_allocators_blocks(exported, known, device)
    tensors = harness.by_address(exported)
    assert {name: tensors[known["facts"][name]]["device"] for name in ("here", "there", "big", "pinned")} == {
        "here": "cuda:0", "there": "cuda:1", "big": "cuda:1", "pinned": "cpu"}


@pytest.mark.parametrize("moment", ["streams", "full", "emptied", "threads"])
def test_the_allocators_harder_moments(moment, harder):
    exported, known = dumped(harder[0], moment)
    agrees_with_the_allocator(exported, known)
    has_the_allocators_blocks(exported, known)


def test_what_nobody_reports_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")
    done = harness.run_source("import torch, truth\nkept = torch.ones(1000, device='cuda')\ntruth.moment()\n", folder=tmp_path,
                              cuda_runtime=0)
    assert done.returncode == 0, done.stderr
    known = harness.truth(tmp_path)
    exported = harness.load(known["dump"])
    harness.compare(exported, known)
    said = harness.coverage(exported)["CUDA memory"]
    assert said.seen == "no" and "cudaMallocAsync" in said.detail
    assert harness.coverage(exported)["CUDA runtime calls"].detail == "switched off by TENSORSCOPE_CUDA_RUNTIME"


def without_our_lines(text):
    return [line for line in text.splitlines() if not line.startswith("tensorscope: wrote")]


@pytest.mark.parametrize("program, fixture, devices", [("cuda_train.py", "trained", 1), ("cuda_devices.py", "on_two_devices", 2)])
def test_the_programs_output_is_the_same_without_the_profiler(program, fixture, devices, request, tmp_path):
    seen = request.getfixturevalue(fixture)[1]
    alone = run(program, tmp_path, preload=False, fake_cuda_devices=devices)
    assert seen.stdout == alone.stdout and "allocated_bytes.all.current" in alone.stdout
    assert without_our_lines(seen.stderr) == without_our_lines(alone.stderr)


def test_no_descriptor_is_kept(tmp_path):
    """Nor by NVML, which is asked at each dump and holds descriptors of the devices between start and stop."""
    without = harness.run("descriptors.py", "cuda", folder=tmp_path, preload=False)
    done = harness.run("descriptors.py", "cuda", folder=tmp_path, quiet=1, oom_report=0)
    assert (done.returncode, done.stdout) == (0, without.stdout), done.stderr
    (device,) = dump_reader.device_memory(harness.dumps(tmp_path)[0]).values()
    assert device.driver_detail == "" and device.total > 0  # NVML was asked


@pytest.fixture(scope="module")
def harder_alone(under_the_cuda_build, tmp_path_factory):
    return run("cuda_memory.py", tmp_path_factory.mktemp("alone"), preload=False)


def test_caught_failures_print_the_same_without_the_profiler(harder, harder_alone):
    assert harder[1].stdout == harder_alone.stdout == "100\n"


@pytest.mark.cases(2)
@pytest.mark.parametrize("configuration, exception", [("", "OutOfMemoryError"), ("expandable_segments:True", "OutOfMemoryError"),
                                                      ("backend:cudaMallocAsync", "OutOfMemoryError"),
                                                      ("no cache", None)])
def test_memory_runs_out_everywhere_as_without_the_profiler(configuration, exception, tmp_path, monkeypatch):
    if configuration == "no cache":
        monkeypatch.setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")
    else:
        monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", configuration)
    seen, alone = (run("cuda_failures.py", tmp_path, preload=preload) for preload in (True, False))
    # A class of torch's own since it has one.
    of_the_runtime = harness.asked("torch", "getattr(torch, 'AcceleratorError', RuntimeError).__name__", harness.FAKE_CUDA)
    exception = exception or of_the_runtime
    places = [line.split(": ")[:2] for line in alone.stdout.splitlines()]
    assert places == [["too_much", exception], ["python_backward", exception], ["native_backward", exception],
                      ["too_much", exception], ["too_much", exception], ["pinned_memory", of_the_runtime]]
    assert seen.stdout == alone.stdout


def test_no_device_is_visible(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = harness.run_source("import torch, truth\nkept = torch.ones(5)\nprint(torch.cuda.device_count())\ntruth.moment()\n",
                              folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    exported, known = dumped(tmp_path)
    harness.compare(exported, known)
    assert set(totals(exported)) == {"cpu"}


def test_an_injected_failure_is_torchs_own_exception(tmp_path):
    """The double itself: a full device, a call that fails once, another process' memory, as torch words them."""
    source = ("import torch\n"
              "try:\n    torch.empty(32 << 20, dtype=torch.uint8, device='cuda')\n"
              "except torch.OutOfMemoryError as error:\n    print(error)\n"
              "kept = torch.empty(8 << 20, dtype=torch.uint8, device='cuda')\n"
              "print(torch.cuda.memory_reserved(), torch.cuda.mem_get_info())\n")
    # torch empties its cache and asks once more: both calls fail.
    done = harness.run_source(source, folder=tmp_path, fake_cuda_capacity=64 * MEBIBYTE, fake_cuda_others=5 * MEBIBYTE,
                              fake_cuda_fail="cudaMalloc:1:2")
    assert done.returncode == 0, done.stderr
    message, state = done.stdout.splitlines()
    assert "Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which 59.00 MiB is free" in message
    assert "Process 1 has 5.00 MiB memory in use" in message
    assert state == f"{20 * MEBIBYTE} ({39 * MEBIBYTE}, {64 * MEBIBYTE})"
