# SPDX-License-Identifier: Apache-2.0
"""A daemon thread that waits for the profiler when the interpreter ends: it is never unwound through the program's frames."""

# Covers: preload/python/interpreter.cc

import subprocess

import pytest

from harness import BUILD, PROGRAMS, TIMEOUT, environment
from test_python_frames import interpreter

FAKE_TORCH = BUILD / "tests" / "unit" / "preload" / "hooks" / "libtorch_cpu.so"
NOEXCEPT = BUILD / "tests" / "programs" / "noexcept_call.so"


@pytest.mark.cases(2)
@pytest.mark.parametrize("series", ["3.11", "3.8", "3.9", "3.13", "3.12", "3.14", "3.15"])
def test_a_thread_that_gave_up_the_gil_never_ends_the_process(series, tmp_path):
    done = subprocess.run([interpreter(series), PROGRAMS / "daemon_dumps.py", FAKE_TORCH, NOEXCEPT], capture_output=True,
                          text=True, timeout=TIMEOUT, cwd=tmp_path, env=environment(tmp_path, exit="never", quiet=1))
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
