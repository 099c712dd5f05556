# SPDX-License-Identifier: Apache-2.0
"""Threads of a program that come and go leave nothing behind: the profiler's own memory, counted by tests/endurance/own_memory.c."""

import subprocess

import harness

SOURCE = """
import ctypes, threading, torch
own = ctypes.CDLL(None).own_memory
class Own(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("mapped", "resident", "ranges", "lost_ranges", "heap")]
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
def work():
    model(torch.ones(1, 2)).sum().backward()
def threads(count):
    for _ in range(count):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    model.zero_grad()
    counted = Own()
    own(ctypes.byref(counted))
    assert counted.lost_ranges == 0
    return counted.heap
before = threads(100)
print(threads(300) - before)
"""


def test_threads_that_called_watched_modules_leave_no_memory(tmp_path):
    counter = tmp_path / "libown_memory.so"
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", harness.ROOT / "tests" / "endurance" / "own_memory.c", "-o", counter], check=True)
    program = tmp_path / "program.py"
    program.write_text(SOURCE)
    settings = harness.environment(tmp_path, exit="never", watch="model.**")
    settings["LD_PRELOAD"] += f":{counter}"
    done = subprocess.run([harness.PYTHON, str(program)], env=settings, cwd=tmp_path, capture_output=True, text=True,
                          timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stderr
    grown = int(done.stdout)
    assert grown < 300 * 100, f"{grown / 300:.0f} bytes a thread"
