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
