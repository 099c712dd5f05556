# SPDX-License-Identifier: Apache-2.0
"""What the preload takes from a program (docs/limits.md), and what happens when there is none of it left: a feature is lost, the
dump says so, and the program continues as it would have without the preload."""

import re
import subprocess

import pytest

import harness

# Bytes of a thread's stack that the profiler may add to what an event takes without it (docs/limits.md).
MOST_STACK = {"first": 4096, "tensors": 6144, "tensors_again": 2048, "operations": 4096, "throws": 2048, "throws_its_own": 2048,
              "deep_stack": 8192, "runs_out_of_memory": 12288}
MOST_STACK_WITHOUT_A_COLLECTOR = {**MOST_STACK, "runs_out_of_memory": 20480}


def run(program, what, folder, preload, *arguments):
    settings = harness.environment(folder, preload, **({"exit": "never"} if preload else {}))
    settings["LD_PRELOAD"] = ":".join([str(harness.LIBRARY)] * preload + [str(harness.BUILD / "tests" / "programs" / "exhausts_early.so")])
    settings["EXHAUST"] = what
    return subprocess.run(harness.command(program, *arguments), env=settings, cwd=folder, capture_output=True, text=True,
                          timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)


def both(folder, what, *arguments):
    """The program with the preload, whose status and output are those of the program without it."""
    harness.needs_build_against_this_torch()
    without, done = (run("exhausted", what, folder, preload, *arguments) for preload in (False, True))
    assert (done.returncode, done.stdout) == (without.returncode, without.stdout), done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("tensorscope: ")] == without.stderr.splitlines()
    return done


def the_dump(folder):
    (dump,) = harness.dumps(folder)
    assert [123] in [tensor["shape"] for tensor in harness.load(dump)["tensors"]]
    return dump


def test_nothing_is_exhausted(tmp_path):
    """What the others are compared with."""
    assert both(tmp_path, "nothing").returncode == 0
    found = harness.coverage(the_dump(tmp_path))
    assert found["native stacks"].seen == found["tensors"].seen == found["signal dumps"].seen == "yes"


def test_no_descriptor_is_left(tmp_path):
    done = both(tmp_path, "descriptors", "dump")
    assert done.returncode == 0 and "no dump" not in done.stderr  # the profiler's descriptors are others
    for dump in harness.dumps(tmp_path):
        found = harness.coverage(dump)
        assert found["tensors"].seen == found["native stacks"].seen == "yes"


def test_no_thread_is_to_be_had(tmp_path):
    done = both(tmp_path, "threads", "dump")
    assert done.returncode == 0
    dumps = harness.dumps(tmp_path)  # the first by the thread that asked
    assert len(dumps) == 2
    for dump in dumps:
        found = harness.coverage(dump)
        assert found["signal dumps"][:2] == ("no", "the collector thread could not be started")
        assert found["tensors"].seen == found["native stacks"].seen == "yes"
        assert [123] in [tensor["shape"] for tensor in harness.load(dump)["tensors"]]


def test_no_key_of_thread_specific_data_is_left(tmp_path):
    """So many are left as the program needs itself, and none for us."""
    harness.needs_build_against_this_torch()
    needed = next(count for count in range(20) if run("exhausted", f"keys:{count}", tmp_path, False).returncode == 0)
    assert needed > 0
    assert both(tmp_path, f"keys:{needed}").returncode == 0
    found = harness.coverage(the_dump(tmp_path))
    assert found["native stacks"][:2] == ("no", "no thread-specific data key is left")
    assert found["tensors"].seen == "yes"


@pytest.mark.cases(3)
@pytest.mark.parametrize("kibibytes", [0, 256, 1 << 10, 8 << 10, 64 << 10, 1 << 20])
def test_address_space_is_tight_from_the_start(kibibytes, tmp_path):
    """What the program does with so little, it does with the preload, whether or not there is room for anything of ours."""
    done = both(tmp_path, f"address_space:{kibibytes << 10}")
    if kibibytes == 1 << 20:
        assert done.returncode == 0 and harness.coverage(the_dump(tmp_path))["tensors"].seen == "yes"


@pytest.mark.parametrize("what", ["nothing", "threads"])
def test_the_programs_stacks_are_not_used_up(what, tmp_path):
    """A hook runs on the stack of the thread that it finds, which may be small; without a collector thread a dump begins there, too."""
    harness.needs_build_against_this_torch()
    takes = {}
    for preload in (False, True):
        done = run("stack_use", what, tmp_path, preload)
        assert done.returncode == 0, done.stderr
        takes[preload] = {name: int(size) for name, size in (line.split() for line in done.stdout.splitlines())}
    assert takes[True].keys() == takes[False].keys() == MOST_STACK.keys()
    more = {name: takes[True][name] - takes[False][name] for name in MOST_STACK}
    most = MOST_STACK_WITHOUT_A_COLLECTOR if what == "threads" else MOST_STACK
    assert all(more[name] <= most[name] for name in most), more
    assert any(more.values()) and len(harness.dumps(tmp_path, "*.oom-1.tscope")) == 1


def thread_local_bytes():
    headers = subprocess.run(["readelf", "-lW", str(harness.LIBRARY)], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"^  TLS +\S+ \S+ \S+ \S+ (\S+)", headers, re.MULTILINE)[1], 16)


def test_thread_local_storage_is_small():
    """It is in the block that every thread begins with (a preload is there before that is measured), so it takes nothing of
    what glibc keeps for libraries that come later, and a little of each thread's stack."""
    assert 0 < thread_local_bytes() <= 512
