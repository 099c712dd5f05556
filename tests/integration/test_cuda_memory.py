# SPDX-License-Identifier: Apache-2.0
"""What a dump says of a CUDA device beyond torch's reports (DEVM, RUNT), on the double of the CUDA libraries: against torch's own
snapshot, what the program took, and what is allocated on the double."""

# Covers: preload/hooks/cuda/cuda_runtime.cc
# Covers: preload/dump/device_chunks.cc preload/devices/{driver,nvml}.cc
# Covers: preload/python/heap_inspector/foreign/allocator_snapshot.cc

import json
import os
import sys

import pytest

import dump_reader
import harness

CALLER = harness.BUILD / "tests" / "programs" / "cuda_caller.so"
PACKAGES = harness.ROOT / ".cache" / "fake-cuda" / "lib" / "python3.11" / "site-packages"
MEBIBYTE = 1 << 20

pytestmark = [harness.needs_fake_cuda, pytest.mark.usefixtures("under_the_cuda_build")]


def run(program, *arguments, folder, **options):
    done = harness.run(program, *arguments, folder=folder, **options)
    assert done.returncode == 0, done.stderr
    return done


def in_environment(folder, program, environment, **options):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        run(program, folder=folder, **options)
    return folder


@pytest.fixture(scope="module", params=["", "expandable_segments:True"])
def segments(under_the_cuda_build, request, tmp_path_factory):
    """The program of all kinds of segments on two devices, with another process on them."""
    return in_environment(tmp_path_factory.mktemp("segments"), "cuda_segments.py", {"PYTORCH_CUDA_ALLOC_CONF": request.param},
                          fake_cuda_devices=2, fake_cuda_others=5 * MEBIBYTE)


@pytest.fixture(scope="module")
def runtime(under_the_cuda_build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runtime")
    run("cuda_runtime.py", CALLER, folder=folder)
    return folder


def totals(exported, device):
    return next(row for row in exported["totals"]["devices"] if row["device"] == device)


STATES = {"active_allocated": "allocated", "active_awaiting_free": "pending_free", "active_pending_free": "pending_free",
          "inactive": "free"}


def as_torch_tells(segment):
    blocks = [(block["address"], block["size"], block["requested_size"] if block["state"] != "inactive" else 0,
               STATES[block["state"]]) for block in segment["blocks"]]
    return (segment["address"], segment["total_size"], segment["allocated_size"], segment["active_size"],
            segment["requested_size"], segment["stream"], tuple(segment["segment_pool_id"]), segment["segment_type"] == "small",
            segment["is_expandable"], blocks)


def as_the_dump_tells(segment):
    blocks = [(block.address, block.size, block.requested, block.state) for block in segment.blocks]
    return (segment.address, segment.size, segment.allocated, segment.active, segment.requested, segment.stream, segment.pool,
            segment.small, segment.expandable, blocks)


def sums_agree(device, total):
    assert sum(segment.size for segment in device.segments) == total["allocator_reserved"]
    assert sum(segment.allocated for segment in device.segments) == total["allocator_allocated"] == total["live_bytes"]
    assert sum(block.size for block in device.blocks if block.state == "allocated") == total["live_bytes"]
    assert sum(block.size for block in device.blocks) == total["allocator_reserved"]


def test_segments_are_those_of_torchs_snapshot(segments):
    known = harness.truth(segments)
    devices = dump_reader.device_memory(known["dump"])
    assert set(devices) == {0, 1}
    for index, device in devices.items():
        told = sorted(as_torch_tells(segment) for segment in known["facts"]["segments"] if segment["device"] == index)
        assert sorted(map(as_the_dump_tells, device.segments)) == told
        assert (device.source, device.detail, device.backend) == ("snapshot", "", "native")
        assert device.looked_ns > 0
    assert len({segment.stream for segment in devices[0].segments}) >= 2
    assert any(block.state == "pending_free" for block in devices[0].blocks)
    private = [segment for segment in devices[0].segments if segment.pool != (0, 0)]
    for name in ("pooled", "captured"):
        assert any(segment.address <= known["facts"][name] < segment.address + segment.size for segment in private)


def test_sums_are_the_allocators(segments):
    known = harness.truth(segments)
    exported = harness.load(known["dump"])
    assert harness.coverage(exported)["device memory"].seen == harness.coverage(exported)["CUDA runtime calls"].seen == "yes"
    for index, device in dump_reader.device_memory(known["dump"]).items():
        sums_agree(device, totals(exported, f"cuda:{index}"))


def test_the_driver_tells_of_all_processes(segments):
    known = harness.truth(segments)
    for index, device in dump_reader.device_memory(known["dump"]).items():
        free, total = known["facts"]["info"][index]
        assert (device.total, device.free, device.driver_detail) == (total, free, "")
        assert device.processes == [(1, 5 * MEBIBYTE)]
        assert device.own == total - free - 5 * MEBIBYTE
        assert device.name == "tensorscope fake device"


def test_segments_are_the_runtimes_blocks(segments):
    known = harness.truth(segments)
    blocks = dump_reader.runtime_blocks(known["dump"])
    for index, device in dump_reader.device_memory(known["dump"]).items():
        seen = sorted((block.pointer, block.nbytes) for block in blocks if block.by_torch and block.device == (1, index))
        assert seen == sorted((segment.address, segment.size) for segment in device.segments if not segment.expandable)
    serials = [block.serial for block in blocks]
    assert serials == sorted(set(serials)) and all(block.site for block in blocks)


def test_a_pinned_tensor_lies_in_a_pinned_block(segments):
    known = harness.truth(segments)
    (block,) = [block for block in dump_reader.runtime_blocks(known["dump"]) if block.kind == "pinned"]
    assert block.pointer <= known["facts"]["pinned"] < known["facts"]["pinned"] + 20000 <= block.pointer + block.nbytes
    assert block.by_torch and block.device == (0, -1)


def test_derived_segments_agree_with_torchs_snapshot(tmp_path):
    """Without the GIL: from the runtime's calls and the blocks that were reported."""
    run("cuda_segments.py", folder=tmp_path, fake_cuda_devices=2, names=0)
    known = harness.truth(tmp_path)
    exported = harness.load(known["dump"])
    for index, device in dump_reader.device_memory(known["dump"]).items():
        assert (device.source, device.backend) == ("runtime_calls", "native")
        assert device.detail == "switched off by TENSORSCOPE_NAMES"
        sums_agree(device, totals(exported, f"cuda:{index}"))
        told = [as_torch_tells(segment) for segment in known["facts"]["segments"] if segment["device"] == index]
        assert [(segment.address, segment.size, segment.allocated) for segment in device.segments] == sorted(
            segment[:3] for segment in told)
        in_use = sorted(block[:2] for segment in told for block in segment[-1] if block[3] == "allocated")
        assert [(block.address, block.size) for block in device.blocks if block.state == "allocated"] == in_use


def test_expandable_segments_cannot_be_derived_and_that_is_said(tmp_path):
    in_environment(tmp_path, "cuda_segments.py", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, names=0)
    known = harness.truth(tmp_path)
    device = dump_reader.device_memory(known["dump"])[0]
    total = totals(harness.load(known["dump"]), "cuda:0")
    outside = total["live_bytes"] - sum(segment.allocated for segment in device.segments)
    assert outside > 30 * MEBIBYTE and f"blocks of {outside} bytes lie in no recorded segment" in device.detail
    assert device.settings == "expandable_segments:True"


def test_memory_that_another_library_takes(runtime):
    known = harness.truth(runtime)
    facts = known["facts"]
    blocks = {block.pointer: block for block in dump_reader.runtime_blocks(known["dump"])}
    expected = {"device": ("device", 1, (1, 0)), "async": ("async", 2, (1, 0)), "managed": ("managed", 3, (1, 0)),
                "pinned": ("pinned", 4, (0, -1)), "host": ("pinned", 5, (0, -1)), "registered": ("registered", 6, (0, -1))}
    for name, (kind, mebibytes, device) in expected.items():
        block = blocks[facts["taken"][name]]
        assert (block.kind, block.nbytes, block.device, block.by_torch) == (kind, mebibytes * MEBIBYTE, device, False), name
    tid, pointer = facts["on_thread"]
    assert blocks[pointer].nbytes == 7 * MEBIBYTE
    mine = {pointer, *facts["taken"].values()}
    assert {block.pointer for block in blocks.values() if not block.by_torch} == mine  # what was given back is gone
    assert sorted(block.kind for block in blocks.values() if block.by_torch) == ["device", "pinned"]
    assert blocks[facts["pinned"]].by_torch


def test_such_memory_has_its_stack_and_is_no_allocation_of_torch(runtime):
    known = harness.truth(runtime)
    exported = harness.load(known["dump"])
    assert {row["device"]: row["live_bytes"] for row in exported["totals"]["devices"]}["cuda:0"] == 4096
    assert [item["pointer"] for item in exported["allocations"] if item["device"] == "cuda:0"] == [known["facts"]["on_device"]]
    sites, stacks = ({item["id"]: item for item in exported[kind]} for kind in ("sites", "stacks"))
    (block,) = [block for block in dump_reader.runtime_blocks(known["dump"]) if block.pointer == known["facts"]["taken"]["device"]]
    stack = {"stack": stacks[sites[block.site]["stack"]]["frames"]}
    assert ("take", known["facts"]["line"] + 2) in [(function, line) for function, _, line in harness.frames(stack)]
    assert any("take_device" in function for function, _, _ in harness.frames(stack, "native"))


@pytest.mark.cases(1)
@pytest.mark.parametrize("environment, backend, kind", [
    ({"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}, "cudaMallocAsync", "async"),
    ({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "none", "device")])
def test_allocators_that_report_nothing(environment, backend, kind, tmp_path):
    known = harness.truth(in_environment(tmp_path, "cuda_unreported.py", environment))
    exported = harness.load(known["dump"])
    assert harness.coverage(exported)["CUDA memory"].seen == "yes"
    harness.compare(exported, known)
    live = {item["id"]: item for item in exported["allocations"] if item["device"] == "cuda:0"}
    assert {item["kind"] for item in live.values()} == {"runtime"}
    taken = sum(-(-item["nbytes"] // 4096) * 4096 for item in live.values())  # the double rounds to pages
    assert taken == known["facts"]["taken"]
    total = totals(exported, "cuda:0")
    assert total["live_bytes"] == sum(item["nbytes"] for item in live.values())
    assert total["peak_bytes"] > total["live_bytes"] and total["total_count"] > 50
    storages = {item["id"]: item for item in exported["storages"]}
    on_device = [storages[tensor["storage"]] for tensor in exported["tensors"]
                 if tensor["device"] == "cuda:0" and tensor["storage"] is not None]
    assert len(on_device) > 20
    for storage in on_device:
        assert live[storage["allocation"]]["nbytes"] == storage["nbytes"]
    assert harness.by_address(exported)[known["facts"]["weight"]]["category"] == "parameter"
    device = dump_reader.device_memory(known["dump"])[0]
    assert (device.source, device.backend) == ("runtime_calls", backend)
    assert sum(segment.size for segment in device.segments) == total["live_bytes"]
    assert {block.kind for block in dump_reader.runtime_blocks(known["dump"]) if block.by_torch} == {kind}


def test_switched_off(tmp_path):
    run("cuda_runtime.py", CALLER, folder=tmp_path, cuda_runtime=0, names=0)
    known = harness.truth(tmp_path)
    assert dump_reader.runtime_blocks(known["dump"]) == []
    device = dump_reader.device_memory(known["dump"])[0]
    assert (device.source, device.segments) == ("none", [])
    assert "CUDA runtime calls are not recorded either" in device.detail


def test_a_program_without_python(tmp_path):
    done = run("cuda_program", PACKAGES / "torch" / "lib", folder=tmp_path)
    (dump,) = harness.dumps(tmp_path)
    exported = harness.load(dump)
    device = dump_reader.device_memory(dump)[0]
    assert (device.source, device.backend) == ("runtime_calls", "native")
    assert device.detail == "there is no Python interpreter to query torch"
    sums_agree(device, totals(exported, "cuda:0"))
    kept = int(done.stdout)
    assert kept <= totals(exported, "cuda:0")["live_bytes"] < kept + 3 * 512
    assert device.own == sum(segment.size for segment in device.segments)


def test_the_total_is_what_programs_can_have(tmp_path):
    """NVML's total of a device has 480 MiB that the driver keeps for itself, here as on an H100; torch's has not."""
    done = harness.run_source("import torch, truth\nkept = torch.empty(1000, device='cuda')\n"
                              "truth.moment(total=torch.cuda.mem_get_info()[1])\n", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    known = harness.truth(tmp_path)
    assert dump_reader.device_memory(known["dump"])[0].total == known["facts"]["total"] == 256 * MEBIBYTE


def without_nvml(folder):
    """A tree of links to the CUDA build's packages in which NVML's library is missing; torch finds its libraries beside itself."""
    def link(source, target, opened=()):
        target.mkdir(parents=True)
        for path in source.iterdir():
            if opened and path.name == opened[0]:
                link(path, target / path.name, opened[1:])
            elif path.name != "libnvidia-ml.so.1":
                (target / path.name).symlink_to(path)

    link(PACKAGES, folder / "packages", ("nvidia", "cu13", "lib"))
    (folder / "packages" / "torch").unlink()
    link(PACKAGES / "torch", folder / "packages" / "torch", ("lib",))
    return folder / "packages"


def test_nvml_is_missing(tmp_path):
    packages = without_nvml(tmp_path)
    source = ("import sys\nsys.path.insert(0, sys.argv[1])\nimport torch, truth\nkept = torch.empty(1000, device='cuda')\n"
              "truth.moment(torch=torch.__file__)\n")
    done = harness.run_source(source, str(packages), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    known = harness.truth(tmp_path)
    assert known["facts"]["torch"].startswith(str(packages))
    device = dump_reader.device_memory(known["dump"])[0]
    assert "libnvidia-ml.so.1 cannot be opened" in device.driver_detail and "cudaMemGetInfo" in device.driver_detail
    assert (device.total, device.free, device.own, device.processes) == (256 * MEBIBYTE, 254 * MEBIBYTE, 0, [])
    assert device.source == "snapshot" and len(device.segments) == 1
    exported = harness.load(known["dump"])
    harness.compare(exported, known)
    assert harness.coverage(exported)["device memory"].seen == "partly"


def test_memory_for_cudnn_to_work_in_need_not_have_ended_the_program(tmp_path):
    """The function of torch that asks for it, here one of that name between the program and torch."""
    library = harness.calling_library("run_conv_plan", tmp_path)
    program = ("import ctypes, sys, torch\nlibrary = ctypes.CDLL(sys.argv[1])\n\ndef ask():\n    try:\n        torch.empty(1 << 40, device='cuda')\n"
               "    except torch.OutOfMemoryError:\n        return 1\n\n")
    for call, told in ("ask()", False), ("library.run_conv_plan(ctypes.CFUNCTYPE(ctypes.c_int)(ask))", True):
        folder = tmp_path / str(told)
        folder.mkdir()
        done = harness.run_source(program + call, str(library), folder=folder)
        assert done.returncode == 0, done.stderr
        dump, = folder.glob("*.oom-1.tscope")
        assert json.loads(harness.cli("oom", dump, "--json").stdout)["failure"]["for_cudnn"] is told
        assert ("what cuDNN would work in" in harness.cli("oom", dump).stdout) is told


def test_the_driver_hangs(tmp_path):
    """A stand-in for NVML beside the double that never answers."""
    source = tmp_path / "hangs.c"
    source.write_text('#include <unistd.h>\nint nvmlInit_v2(void) { for (;;) pause(); }\n'
                      "int nvmlShutdown(void) { return 0; }\nint nvmlDeviceGetHandleByPciBusId_v2(void) { return 1; }\nint nvmlDeviceGetMemoryInfo(void) { return 1; }\n")
    library = tmp_path / "libnvidia-ml.so.1"
    assert os.system(f"cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o {library} {source}") == 0
    program = ("import ctypes, sys, torch, truth\nctypes.CDLL(sys.argv[1])\nkept = torch.empty(1000, device='cuda')\n"
               "truth.moment('first')\ntruth.moment('second')\n")
    done = harness.run_source(program, str(library), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for moment, why in (("first", "the driver did not answer in time"),
                        ("second", "the driver has not yet answered the query of an earlier dump")):
        known = harness.truth(tmp_path, moment)
        device = dump_reader.device_memory(known["dump"])[0]
        assert (device.driver_detail, device.total, device.name) == (why, 0, "")
        assert device.source == "snapshot" and len(device.segments) == 1


def test_a_forked_child_asks_nobody(tmp_path):
    run("cuda_fork.py", folder=tmp_path)
    parent, child = harness.truth(tmp_path, "parent"), harness.truth(tmp_path, "child")
    assert list(dump_reader.device_memory(parent["dump"])) == [0]
    assert dump_reader.device_memory(child["dump"]) == {}
    blocks = [[(block.serial, block.pointer) for block in dump_reader.runtime_blocks(known["dump"])] for known in (parent, child)]
    assert blocks[0] == blocks[1] and len(blocks[0]) == 1
    exported = harness.load(child["dump"])
    assert harness.coverage(exported)["device memory"][:2] == ("not_applicable", "no CUDA device was used")


def test_no_device_is_visible(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    source = ("import torch, truth\nkept = torch.ones(5)\ntorch.cuda.is_available()\ndump = truth.moment()\n"
              "print('libnvidia-ml' in open('/proc/self/maps').read())\n")
    seen = harness.run_source(source, folder=tmp_path)
    alone = harness.run_source(source, folder=tmp_path, preload=False)
    assert seen.stdout == alone.stdout, seen.stderr  # nothing was loaded that would not have been
    (dump,) = harness.dumps(tmp_path, "*.1.tscope")
    assert dump_reader.device_memory(dump) == {} and dump_reader.runtime_blocks(dump) == []
    exported = harness.load(dump)
    assert harness.coverage(exported)["device memory"].seen == "not_applicable"
    assert harness.coverage(exported)["CUDA runtime calls"].seen == "yes"


def test_a_build_of_torch_without_cuda(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "PYTHON", sys.executable)
    source = ("import torch, truth\nkept = torch.ones(5)\ndump = truth.moment()\n"
              "print('libnvidia-ml' in open('/proc/self/maps').read())\n")
    done = harness.run_source(source, folder=tmp_path)
    assert done.stdout == "False\n", done.stderr
    (dump,) = harness.dumps(tmp_path, "*.1.tscope")
    assert dump_reader.device_memory(dump) == {} and dump_reader.runtime_blocks(dump) == []
    subjects = harness.coverage(dump)
    assert subjects["CUDA memory"].seen == "not_applicable"  # which says it once
    assert not {"CUDA runtime calls", "device memory"} & subjects.keys()
