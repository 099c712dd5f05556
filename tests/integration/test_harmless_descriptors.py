# SPDX-License-Identifier: Apache-2.0
"""No number of the program's descriptor table is ever taken, whatever is closed; no filter and no namespace of the program's gets in
the way of the profiler. The programs have a library that stands for torch, so a run takes half a second."""

# Covers: preload/python/file_bytes.cc
# Covers: preload/support/call_filter.cc preload/hooks/process/seccomp.cc

import itertools
import os
import platform
import subprocess

import pytest

import harness
from harness import BUILD, PROGRAMS, TIMEOUT, environment

FAKE_TORCH = BUILD / "tests" / "unit" / "preload" / "hooks" / "libtorch_cpu.so"
CLOSED = ["".join(numbers) for size in range(4) for numbers in itertools.combinations("012", size)]
x86_64_only = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls are those of x86-64")


def run(program, *arguments, folder, closed="", preload=True, **options):
    """A program with these of its standard descriptors closed from the start."""
    redirections = " ".join(f"{number}>&-" for number in closed)
    line = f'exec "$@" {redirections}'
    return subprocess.run(["sh", "-c", line, "sh", harness.PYTHON, PROGRAMS / program, FAKE_TORCH, *arguments], capture_output=True, text=True,
                          timeout=TIMEOUT, cwd=folder, env=environment(folder, preload, **options), stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("closed", CLOSED, ids=lambda closed: closed or "none")
def test_a_program_never_meets_a_descriptor_of_the_profiler(closed, tmp_path):
    done = run("own_numbers.py", closed, folder=tmp_path, closed=closed, record=1, quiet=1, exit="never", low_memory="5%")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "found").read_text() == "{}\n"
    dumps = harness.dumps(tmp_path)
    assert len(dumps) == 6
    for written in (dumps[-1], *tmp_path.glob("*.recording")):
        assert "own descriptors" not in harness.cli("info", written).stdout  # nothing is missing


def test_a_file_that_took_the_number_of_a_closed_standard_error_stays_the_programs(tmp_path):
    source = tmp_path / "reused.py"
    source.write_text("import ctypes, os, sys\nnumber = os.open('data', os.O_RDWR | os.O_CREAT)\nassert number == 2\nos.write(number, b'MY DATA')\n"
                      "library = ctypes.CDLL(sys.argv[1])\nlibrary.fake_allocate(ctypes.c_size_t(64))\n")
    done = run(source, folder=tmp_path, closed="2")
    assert done.returncode == 0
    assert (tmp_path / "data").read_text() == "MY DATA"
    assert len(harness.dumps(tmp_path)) == 1  # of the exit: there was something to say


READV, WRITEV, PTRACE, OPEN, OPENAT = "310", "311", "101", "2", "257"


@x86_64_only
@pytest.mark.parametrize("moment, calls", [("before", (READV, WRITEV, PTRACE)), ("after", (OPEN, OPENAT)), ("all", (OPEN, OPENAT)),
                                           ("busy", (OPEN, OPENAT)), ("after", (READV, WRITEV, PTRACE))], ids=lambda value: value if isinstance(value, str) else "")
def test_a_filter_of_the_program_never_ends_it_because_of_the_profiler(moment, calls, tmp_path):
    for preload in (False, True):
        done = run("filtered.py", moment, *calls, folder=tmp_path, preload=preload, low_memory="off" if moment in ("all", "busy") else "5%",
                   record=1 if moment == "busy" else "0", quiet=1)
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", ""), preload
    # Under a filter before all threads nothing is written from then on: docs/limits.md.
    # What was asked for just before may have been begun by then.
    assert len(harness.dumps(tmp_path)) in {"all": (0,), "busy": (0, 1)}.get(moment, (2,))


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root, or a system that gives them to users")
@pytest.mark.parametrize("flags", ["10000000", "20000000"], ids=["user", "pid"])
def test_a_namespace_for_a_process_with_one_thread_is_given_as_without(flags, tmp_path):
    told = [run("alone.py", flags, folder=tmp_path, preload=preload, quiet=1, exit="never") for preload in (False, True)]
    assert told[0].stdout.startswith("unshare 0 0\n")
    assert (told[1].returncode, told[1].stdout, told[1].stderr) == (told[0].returncode, told[0].stdout, told[0].stderr)
