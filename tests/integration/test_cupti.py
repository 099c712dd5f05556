# SPDX-License-Identifier: Apache-2.0
"""TENSORSCOPE_CUPTI on the double of CUPTI: memory of the whole process, kernels and copies by call site, and other tools beside it."""

# Covers: preload/hooks/cuda/cupti.cc
# Covers: preload/devices/cupti/{session,limited_work}.cc
# Covers: preload/dump/cupti_chunks.cc

import os

import harness
import pytest

pytestmark = [harness.needs_fake_cuda, pytest.mark.usefixtures("under_the_cuda_build")]

HOST_KINDS = ("pinned", "pageable")
IN_USE = "tensorscope: CUPTI is already used by another tool in this process"
TAKEN_OVER = "tensorscope: another tool in this process (torch.profiler?) takes over CUPTI"


def run(source, folder, **options):
    done = harness.run_source(source, folder=folder, **options)
    assert done.returncode == 0, done.stderr
    return done


def own_lines(text):
    return [line for line in text.splitlines() if line.startswith("tensorscope: ") and not line.startswith("tensorscope: wrote")]


@pytest.fixture(scope="module")
def recorded(under_the_cuda_build, tmp_path_factory):
    """The program with everything recorded: its dumps as JSON by moment, with what the program knows."""
    folder = tmp_path_factory.mktemp("recorded")
    done = harness.run("cuda_cupti.py", folder=folder, cupti="activity")
    assert done.returncode == 0, done.stderr
    assert own_lines(done.stderr) == []
    moments = {}
    for name in ("held", "released"):
        known = harness.truth(folder, name)
        moments[name] = harness.load(known["dump"]), known["facts"], known["dump"], known["pid"]
    return moments


def blocks(exported, *kinds):
    return {row["pointer"]: row for row in exported["driver_memory"]["blocks"] if row["kind"] in kinds}


def stack_of(exported, site):
    return [frame["function"] for stack in exported["stacks"] if stack["id"] == site for frame in stack["frames"]]


def launches_by(exported, function):
    """Sums over the places that lie in a Python function."""
    rows = [row for row in exported["launches"] if row["site"] and function in stack_of(exported, row["site"])]
    return {field: sum(row[field] for row in rows) for field in rows[0] if field != "site"} if rows else None


def test_all_that_the_driver_gave_out_is_there(recorded):
    exported, facts, _, pid = recorded["held"]
    device = blocks(exported, "device")
    assert sum(row["nbytes"] for row in device.values()) == facts["reserved"] + 3_000_000 + 200_000
    assert device[facts["mine"]]["nbytes"] == 3_000_000 and device[facts["theirs"]]["nbytes"] == 200_000
    assert facts["gone"] not in device
    pinned = blocks(exported, "pinned")
    assert {row["device"] for row in pinned.values()} == {"cpu"} and sum(row["nbytes"] for row in pinned.values()) >= 4000
    for row in exported["driver_memory"]["blocks"]:
        assert row["process"] == pid
        assert exported["process"]["start_ns"] < row["created_ns"] <= exported["process"]["dump_ns"]
    memory = exported["driver_memory"]
    assert memory["allocations"] - memory["releases"] == len(memory["blocks"])
    assert memory["flushed"] and memory["lost"] == 0 and memory["unknown_releases"] == 0 and memory["ended_ns"] is None
    assert memory["version"] == 130001


def test_a_block_knows_the_call_that_made_it(recorded):
    exported, facts, _, _ = recorded["held"]
    device = blocks(exported, "device")
    assert "library" in stack_of(exported, device[facts["mine"]]["site"])
    assert "of_the_runtime" in stack_of(exported, device[facts["theirs"]]["site"])
    assert all(row["site"] is not None for row in device.values())


def test_what_was_released_is_gone(recorded):
    exported, facts, _, _ = recorded["released"]
    device = blocks(exported, "device")
    assert sum(row["nbytes"] for row in device.values()) == facts["reserved"]
    assert recorded["held"][1]["mine"] not in device and recorded["held"][1]["theirs"] not in device


def test_kernels_copies_and_fills_count_for_their_place(recorded):
    exported, _, _, _ = recorded["held"]
    kernels, copies, fills = (launches_by(exported, name) for name in ("kernels", "copies", "fills"))
    assert (kernels["kernels"], kernels["copies"], kernels["fills"]) == (5, 0, 0)
    assert (copies["kernels"], copies["copies"], copies["copied_bytes"], copies["to_host_bytes"]) == (0, 3, 3 << 10, 3 << 10)
    assert (fills["kernels"], fills["fills"], fills["filled_bytes"]) == (0, 2, 8 << 10)
    assert launches_by(exported, "launches_of_the_driver")["kernels"] == 4
    assert kernels["kernel_ns"] == 5000 and copies["copy_ns"] == 3000 and fills["fill_ns"] == 2000  # 1 us each on the double
    assert harness.coverage(exported)["kernels and copies"].seen == "yes"


def test_the_report_says_whose_it_is(recorded):
    _, facts, dump, _ = recorded["held"]
    text = harness.cli("report", dump, env={**os.environ, "COLUMNS": "300"}).stdout
    assert "memory allocated by the driver (CUPTI)" in text
    torch, library, runtime = ([line.split() for line in text.splitlines() if words in line][-1]  # host memory comes first
                               for words in ("torch's allocator", " library ", " of_the_runtime "))
    assert torch[2:] == ["1", "12.0", "MiB"] and library[2:5] == ["1", "2.9", "MiB"] and runtime[2:5] == ["1", "195.3", "KiB"]
    launches = harness.cli("report", dump, "--launches").stdout
    assert "kernels and copies by call site" in launches and "cuda_cupti.py" in launches


def test_memory_alone_records_no_kernels(under_the_cuda_build, tmp_path):
    done = harness.run("cuda_cupti.py", folder=tmp_path, cupti="1")
    assert done.returncode == 0 and own_lines(done.stderr) == []
    known = harness.truth(tmp_path, "held")
    exported = harness.load(known["dump"])
    assert exported["launches"] is None and len(exported["driver_memory"]["blocks"]) > 3
    assert exported["process"]["options"]["TENSORSCOPE_CUPTI"] == "memory"
    assert "not recorded: run the program with TENSORSCOPE_CUPTI=activity" in harness.cli("report", known["dump"], "--launches").stdout


def test_nothing_of_it_where_it_is_not_asked_for(under_the_cuda_build, tmp_path):
    done = harness.run("cuda_cupti.py", folder=tmp_path)
    assert done.returncode == 0 and own_lines(done.stderr) == []
    exported = harness.load(harness.truth(tmp_path, "held")["dump"])
    assert exported["driver_memory"] is None and exported["launches"] is None
    assert not {"driver memory", "kernels and copies"} & harness.coverage(exported).keys()


def test_physical_memory_behind_expandable_segments(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    done = run("import torch, truth\nkept = torch.ones(9 << 20, device='cuda')\ngone = torch.ones(9 << 20, device='cuda')\n"
               "truth.moment('both', reserved=torch.cuda.memory_reserved())\ndel gone\ntorch.cuda.empty_cache()\n"
               "truth.moment('one', reserved=torch.cuda.memory_reserved())\n", tmp_path, cupti="1")
    assert own_lines(done.stderr) == []
    sizes = []
    for name in ("both", "one"):
        known = harness.truth(tmp_path, name)
        exported = harness.load(known["dump"])
        physical = blocks(exported, "physical")
        assert sum(row["nbytes"] for row in physical.values()) == known["facts"]["reserved"]
        assert all(row["device"] == "cuda:0" and row["site"] is not None for row in physical.values())
        sizes.append(known["facts"]["reserved"])
        assert "seen only by CUPTI" not in harness.cli("report", known["dump"]).stdout
    assert sizes[0] > sizes[1] > 0


USES_CUDA = "import torch, truth\nkept = torch.ones(1000, device='cuda')\ntruth.moment()\n"


@pytest.mark.parametrize("state, line", [("busy", IN_USE), ("off", "tensorscope: CUPTI records nothing: cuptiSubscribe returned 999")])
def test_a_cupti_that_refuses_costs_one_line(state, line, tmp_path):
    done = run(USES_CUDA, tmp_path, cupti="1", fake_cuda_cupti=state)
    (said,) = own_lines(done.stderr)
    assert said.startswith(line)
    exported = harness.load(harness.truth(tmp_path)["dump"])
    assert harness.coverage(exported)["driver memory"].seen == "no" and exported["driver_memory"] is None
    harness.compare(exported, harness.truth(tmp_path))


def test_a_process_that_uses_no_cuda_opens_nothing(tmp_path):
    done = run("import torch, truth\nkept = torch.ones(1000)\ntruth.moment()\n", tmp_path, cupti="1", fake_cuda_cupti="busy")
    assert own_lines(done.stderr) == []
    exported = harness.load(harness.truth(tmp_path)["dump"])
    assert harness.coverage(exported)["driver memory"].seen == "not_applicable" and exported["driver_memory"] is None


PROFILED = ("import torch, truth\nfrom torch.profiler import profile, ProfilerActivity\n"
            "def traced():\n"
            "    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as result:\n"
            "        for _ in range(3):\n            kept.add_(1)\n"
            "        torch.cuda.synchronize()\n"
            "    return sorted((event.key, event.count) for event in result.key_averages())\n")


def profiled(order, folder, **options):
    done = run(PROFILED + order, folder, **options)
    return done, done.stdout


def test_the_profiler_works_as_without_us_when_it_comes_later(tmp_path):
    order = "kept = torch.ones(1000, device='cuda')\nprint(traced())\nkept.add_(1)\nprint(traced())\ntruth.moment()\n"
    done, traces = profiled(order, tmp_path, cupti="activity")
    known = harness.truth(tmp_path)
    _, alone = profiled(order, tmp_path, preload=False)
    assert traces == alone and "aten::add_" in traces and "kernel_of_the_double" in traces
    (said,) = own_lines(done.stderr)
    assert said.startswith(TAKEN_OVER)
    exported = harness.load(known["dump"])
    for subject in ("driver memory", "kernels and copies"):
        assert harness.coverage(exported)[subject].seen == "partly" and "took over CUPTI" in harness.coverage(exported)[subject].detail
    memory = exported["driver_memory"]
    assert memory["began_ns"] < memory["ended_ns"] < exported["process"]["dump_ns"] and memory["blocks"]
    assert "until" in harness.cli("report", known["dump"]).stdout


@pytest.mark.cases(0)
def test_the_profiler_works_as_without_us_when_it_is_first(tmp_path):
    order = "kept = torch.ones(1000)\nprint(traced())\nkept = torch.ones(1000, device='cuda')\nprint(traced())\ntruth.moment()\n"
    done, traces = profiled(order, tmp_path, cupti="1")
    _, alone = profiled(order, tmp_path, preload=False)
    assert traces == alone and "kernel_of_the_double" in traces
    (said,) = own_lines(done.stderr)
    assert said.startswith((IN_USE, TAKEN_OVER))


def test_a_tool_whose_calls_are_not_seen_is_first(tmp_path):
    done = run("import ctypes\nimport torch, truth\n"
               "assert ctypes.CDLL('libcupti.so.13').fake_cupti_subscribe() == 0\n"
               "kept = torch.ones(1000, device='cuda')\ntruth.moment()\n", tmp_path, cupti="1")
    (said,) = own_lines(done.stderr)
    assert said.startswith(IN_USE)


def test_a_forked_child_has_none_of_it(tmp_path):
    done = run("import os, torch, truth\nkept = torch.ones(1000, device='cuda')\ntruth.moment('parent')\n"
               "child = os.fork()\nif child == 0:\n    more = torch.ones(10)\n    truth.moment('child')\n    os._exit(0)\n"
               "assert os.waitpid(child, 0)[1] == 0\nkept.add_(1)\ntruth.moment('after')\n", tmp_path, cupti="activity")
    assert own_lines(done.stderr) == []
    child, after = (harness.load(harness.truth(tmp_path, name)["dump"]) for name in ("child", "after"))
    assert child["driver_memory"] is None and harness.coverage(child)["driver memory"].seen == "not_applicable"
    assert after["driver_memory"]["flushed"] and sum(row["kernels"] for row in after["launches"]) > 0


def test_more_records_than_a_buffer_holds(tmp_path):
    done = run("import torch, truth\nkept = torch.ones(8, device='cuda')\n"
               "def many():\n    for _ in range(12000):\n        kept.add_(1)\n"
               "many()\ntruth.moment()\n", tmp_path, cupti="activity")
    assert own_lines(done.stderr) == []
    exported = harness.load(harness.truth(tmp_path)["dump"])
    assert launches_by(exported, "many")["kernels"] == 12000  # 216 bytes each: more than two buffers
    assert harness.coverage(exported)["driver memory"].missed == 0
