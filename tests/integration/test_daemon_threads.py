# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for the GIL when the interpreter ends, the program's and the profiler's own: none is unwound through frames of C++."""

# Covers: preload/python/interpreter.cc preload/hooks/process/process.cc

import subprocess
import sys
import sysconfig

import pytest

from harness import BUILD, LIBRARY, PROGRAMS, PYTHON, TIMEOUT, environment
from test_python_frames import interpreter

FAKE_TORCH = BUILD / "tests" / "unit" / "preload" / "hooks" / "libtorch_cpu.so"
LATE_GIL = BUILD / "tests" / "programs" / "late_gil.so"
NOEXCEPT = BUILD / "tests" / "programs" / "noexcept_call.so"


@pytest.mark.cases(2)
@pytest.mark.parametrize("series", ["3.11", "3.8", "3.9", "3.13", "3.12", "3.14", "3.15"])
def test_a_thread_that_gave_up_the_gil_never_ends_the_process(series, tmp_path):
    done = subprocess.run([interpreter(series), PROGRAMS / "daemon_dumps.py", FAKE_TORCH, NOEXCEPT], capture_output=True,
                          text=True, timeout=TIMEOUT, cwd=tmp_path, env=environment(tmp_path, exit="never", quiet=1))
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


TRAINS = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.ones(3, 4) * step).sum().backward()
    optimizer.step()
"""


@pytest.mark.skipif(PYTHON != sys.executable or not sysconfig.get_config_var("Py_ENABLE_SHARED"), reason="nothing stands before an interpreter within its program")
def test_a_job_that_gave_up_the_gil_never_ends_the_process(tmp_path):
    """Values are looked at by torch on the profiler's thread: a function of torch that is noexcept takes the GIL again."""
    (tmp_path / "trains.py").write_text(TRAINS)
    settings = environment(tmp_path, exit="never", quiet=1, calls=1, watch="full:model.*")
    done = subprocess.run([PYTHON, "trains.py"], capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path,
                          env=settings | {"LD_PRELOAD": f"{LATE_GIL} {LIBRARY}"})
    assert (done.returncode, done.stdout) == (0, "waits\n"), done.stderr
