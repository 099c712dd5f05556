# SPDX-License-Identifier: Apache-2.0
"""`tensorscope snapshot` of launchers, of programs with a handler of their own, and without a signal."""

import os
import signal
import subprocess

import harness


def test_a_launcher_names_its_children(tmp_path):
    stop = tmp_path / "stop"
    with harness.running("launcher.py", "2", str(stop), folder=tmp_path) as process:
        done = harness.cli("snapshot", process.pid, status=None)
        assert "2 child processes are running under the profiler" in done.stderr, done.stderr
        assert "waiter.py, rank 0" in done.stderr and "--children" in done.stderr
        all_of_them = harness.cli("snapshot", process.pid, "--children", status=None).stdout.split()
        alive = [path for path in all_of_them if harness.load(path)["tensors"]]
        assert len(alive) == 2 and {harness.load(path)["process"]["parent_pid"] for path in alive} == {process.pid}
        stop.touch()
        assert process.wait(harness.TIMEOUT) == 0
    assert not [path for path in harness.dumps(tmp_path, f"launcher.{process.pid}.exit.tscope")]
    assert len(harness.dumps(tmp_path, "waiter.*.exit.tscope")) == 2


def test_a_launcher_that_nobody_asked_leaves_no_dump(tmp_path):
    source = "import subprocess, sys\nimport torch.distributed\nsubprocess.run([sys.executable, '-c', 'import torch; x = torch.ones(9)'], check=True)\n"
    done = harness.run_source(source, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(harness.dumps(tmp_path)) == 1, done.stderr  # the child's
    assert not harness.dumps(tmp_path, "program.*.tscope")


def test_a_program_that_freed_all_it_made_leaves_its_dump(tmp_path):
    done = harness.run_source("import torch\ntorch.ones(100).sum()\n", folder=tmp_path)
    assert done.returncode == 0 and len(harness.dumps(tmp_path, "*.exit.tscope")) == 1


def test_without_a_signal(tmp_path):
    stop = tmp_path / "stop"
    with harness.running("waiter.py", str(stop), folder=tmp_path, signal="off") as process:
        refused = harness.cli("snapshot", process.pid, status=2)
        assert "--no-signal" in refused.stderr
        path = harness.cli("snapshot", process.pid, "--no-signal").stdout.strip()
        assert harness.load(path)["process"]["pid"] == process.pid
        stop.touch()
        assert process.wait(harness.TIMEOUT) == 0
    assert not [name for name in os.listdir("/dev/shm") if f"tensorscope-request.{process.pid}." in name]


def test_a_handler_of_the_program_is_not_run(tmp_path):
    stop = tmp_path / "stop"
    with harness.running("requeued.py", str(stop), folder=tmp_path) as process:
        harness.until(lambda: "tensorscope+own" in names_of_threads(process.pid), "the collector shows the handler")
        done = harness.cli("snapshot", process.pid)
        assert "its own handler" in done.stderr and done.stderr.count("\n") == 1
        exported = harness.load(done.stdout.strip())
        assert any("handler of its own" in row.detail for row in harness.coverage(exported).values())
        process.send_signal(signal.SIGUSR1)  # this one is the scheduler's
        harness.until(lambda: len(harness.dumps(tmp_path)) == 2, "the dump of the signal")
        stop.touch()
        assert process.stdout.readline().strip() == "calls 1"
        assert process.wait(harness.TIMEOUT) == 0


def names_of_threads(pid):
    return [open(f"/proc/{pid}/task/{thread}/comm").read().strip() for thread in os.listdir(f"/proc/{pid}/task")]


def test_run_in_a_folder_that_cannot_be_written_to_offers_another(tmp_path):
    done = harness.cli("run", "--dir", tmp_path / "missing" / "dumps", "--", "true", status=2)
    assert "--dir DIR" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "missing").exists()
    harness.cli("run", "--dir", tmp_path / "made", "--", "true")
    assert (tmp_path / "made").is_dir()


def test_help_without_torch():
    done = subprocess.run(["true"], env=harness.environment(help=1), capture_output=True, text=True)
    assert "TENSORSCOPE_SIGNAL=SIGUSR1" in done.stderr and not done.stdout
    assert subprocess.run(["true"], env=harness.environment(), capture_output=True, text=True).stderr == ""
