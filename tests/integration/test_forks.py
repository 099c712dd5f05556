# SPDX-License-Identifier: Apache-2.0
"""os.fork() under the preload: it ends, also among signals and threads that allocate, its child can do what another could,
and it says what it says without (CPython warns from 3.12 on where there are other threads)."""

# Covers: preload/hooks/process/fork.cc
# Covers: preload/dump/fork_gate.cc preload/collector/fork_restart.cc

import subprocess

import pytest

import harness
from harness import BUILD, PROGRAMS, TIMEOUT, environment
from test_python_frames import interpreter

FAKE_TORCH = BUILD / "tests" / "unit" / "preload" / "hooks" / "libtorch_cpu.so"


@pytest.mark.cases(4)
@pytest.mark.parametrize("options", [[], ["handler"]], ids=["plain", "handler"])
@pytest.mark.parametrize("series", ["3.8", "3.11", "3.12", "3.13", "3.14"])
def test_no_warning_because_of_the_collector(series, options, tmp_path):
    done = subprocess.run([interpreter(series), PROGRAMS / "fork_warnings.py", FAKE_TORCH, *options], capture_output=True,
                          text=True, timeout=TIMEOUT, cwd=tmp_path, env=environment(tmp_path, exit="never"))
    assert done.returncode == 0, done.stderr
    # The collector is there again after the last fork.
    assert done.stdout.splitlines() == ["0 warnings", "3 threads"], done.stderr


OWN_HANDLER = """
import ctypes, os, signal, sys, time
signal.signal(signal.SIGUSR1, lambda number, frame: None)
library = ctypes.CDLL(sys.argv[1])
library.fake_allocate.argtypes = [ctypes.c_size_t]
library.fake_allocate(64)

def threads():
    names = set()
    for task in os.listdir("/proc/self/task"):
        try:
            names.add(open(f"/proc/self/task/{task}/comm").read().strip())
        except OSError:  # it has ended
            pass
    return names

def wait():
    end = time.monotonic() + 60
    while "tensorscope+own" not in threads():
        if time.monotonic() > end:
            os._exit(1)
        time.sleep(0.01)

wait()
child = os.fork()
wait()
if child == 0:
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_collector_that_begins_again_shows_the_programs_own_handler(tmp_path):
    """By its name, for who would send the signal: in the child, and in the parent, where it ends for the fork from 3.12 on."""
    (tmp_path / "program.py").write_text(OWN_HANDLER)
    done = subprocess.run([interpreter("3.12"), tmp_path / "program.py", FAKE_TORCH], capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path,
                          env=environment(tmp_path, exit="never"))
    assert done.returncode == 0, done.stderr


@pytest.mark.cases(2)
@pytest.mark.parametrize("handler", [[], ["handler"]], ids=["plain", "handler"])
@pytest.mark.parametrize("child", ["exit", "work"])
def test_a_storm_of_forks_and_signals_ends(child, handler, tmp_path, long):
    """A thread that a signal interrupts inside malloc must not wait for a fork, which waits for malloc."""
    done = harness.run("fork_storm.py", "120" if long else "5", child, *handler, folder=tmp_path, exit="never", quiet=1)
    assert (done.returncode, done.stdout) == (0, f"forks True calls {bool(handler)}\n"), done.stderr
    assert done.stderr == ""
    for dump in harness.dumps(tmp_path)[::50]:
        harness.cli("info", dump)
