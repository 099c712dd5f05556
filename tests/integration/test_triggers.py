# SPDX-License-Identifier: Apache-2.0
"""Signals, names and places of dumps, and what happens where none can be written."""

# Covers: preload/collector/{api,write_dump,written_dumps}.cc

import os
import random
import signal
import stat
import subprocess
import time

import pytest

import harness


def test_one_signal_one_dump(tmp_path):
    stop = tmp_path / "stop"
    with harness.running("waiter.py", str(stop), folder=tmp_path) as process:
        for number in (1, 2):
            process.send_signal(signal.SIGUSR1)
            dump = tmp_path / f"waiter.{process.pid}.{number}.tscope"
            harness.until(dump.exists, dump.name)
            assert stat.S_IMODE(dump.stat().st_mode) == 0o600
        stop.touch()
        assert process.wait(harness.TIMEOUT) == 0
    assert (tmp_path / f"waiter.{process.pid}.exit.tscope").exists()


def test_a_burst_of_signals_ends_with_a_dump_after_the_last(tmp_path):
    stop = tmp_path / "stop"
    with harness.running("waiter.py", str(stop), folder=tmp_path) as process:
        for _ in range(49):
            process.send_signal(signal.SIGUSR1)
        before_the_last = time.time_ns()
        process.send_signal(signal.SIGUSR1)

        def newest_is_later():
            dumps = harness.dumps(tmp_path)
            return dumps and harness.load(dumps[-1])["process"]["dump_unix_ns"] >= before_the_last
        harness.until(newest_is_later, "a dump after the last signal")
        stop.touch()
        assert process.wait(harness.TIMEOUT) == 0
    asked = harness.dumps(tmp_path, "*.[0-9]*.tscope")
    numbers = sorted(int(path.name.split(".")[-2]) for path in asked if ".exit." not in path.name)
    assert numbers == list(range(1, len(numbers) + 1)) and 1 <= len(numbers) <= 50


@pytest.mark.cases(1)
@pytest.mark.parametrize("setting", ["SIGUSR2", "12"])
def test_another_signal(setting, tmp_path):
    with harness.running("waiter.py", str(tmp_path / "stop"), folder=tmp_path, signal=setting) as process:
        process.send_signal(signal.SIGUSR2)
        harness.until(lambda: harness.dumps(tmp_path), "a dump")
        (tmp_path / "stop").touch()
        assert process.wait(harness.TIMEOUT) == 0


def test_no_signal(tmp_path):
    with harness.running("waiter.py", str(tmp_path / "stop"), folder=tmp_path, signal="off") as process:
        process.send_signal(signal.SIGUSR1)
        assert process.wait(harness.TIMEOUT) == -signal.SIGUSR1  # the program's own disposition: the default
    assert not harness.dumps(tmp_path)


def test_an_existing_name_is_kept(tmp_path):
    source = ("import os, torch\nkept = torch.ones(3)\nopen(f'program.{os.getpid()}.exit.tscope', 'w').write('precious')\n"
              "import truth\nopen(f'program.{os.getpid()}.1.tscope', 'w').write('precious')\nprint(truth.dump())\n")
    done = harness.run_source(source, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    written = [path for path in harness.dumps(tmp_path) if path.stat().st_size > 100]
    kept = [path for path in harness.dumps(tmp_path) if path.read_bytes() == b"precious"]
    assert len(written) == 2 and len(kept) == 2
    assert done.stdout.strip() == str(written[0])


def test_a_symbolic_link_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    source = ("import os, torch, truth\nkept = torch.ones(3)\n"
              f"os.symlink({str(outside)!r}, f'program.{{os.getpid()}}.1.tscope')\nprint(truth.dump())\n")
    done = harness.run_source(source, folder=tmp_path)
    assert done.returncode == 0 and not outside.exists()
    assert not os.path.islink(done.stdout.strip())


@pytest.mark.cases(1)
@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null", "/dev/null/below"])
def test_an_impossible_directory_is_one_line(place, tmp_path):
    done = harness.run("ends.py", "return", folder=tmp_path, dir=place)
    assert done.returncode == 0 and done.stdout == "before the end\n"
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("tensorscope: ") and place in lines[0]


def test_a_missing_directory_is_made(tmp_path):
    done = harness.run("ends.py", "return", folder=tmp_path, dir=tmp_path / "missing")
    assert done.returncode == 0 and len(harness.dumps(tmp_path / "missing")) == 1


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    done = subprocess.run(["/bin/sh", "-c", 'ulimit -f 2; exec "$@"', "sh", *harness.command("ends.py", "return")],
                          env=harness.environment(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "before the end\n"
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("tensorscope: ")
    assert [path.name for path in tmp_path.iterdir() if "ends" in path.name] == []


def test_rank_and_module_names(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "tool.py").write_text("import torch\nkept = torch.ones(3)\n")
    settings = harness.environment(tmp_path) | {"RANK": "3", "WORLD_SIZE": "8"}
    subprocess.run([harness.PYTHON, "-X", "utf8", "-m", "package.tool"], env=settings, cwd=tmp_path, check=True)
    (dump,) = harness.dumps(tmp_path)
    assert dump.name.startswith("package.tool.rank3.") and dump.name.endswith(".exit.tscope")
    process = harness.load(dump)["process"]
    assert (process["rank"], process["world_size"]) == (3, 8)


def test_sigkill_never_leaves_a_broken_dump(tmp_path, long):
    """Killed at random moments while it is dumping all the time: every file with a dump's name is whole."""
    dice = random.Random(1)
    for number in range(200 if long else 4):
        folder = tmp_path / str(number)
        folder.mkdir()
        with harness.running("waiter.py", str(folder / "stop"), folder=folder) as process:
            process.send_signal(signal.SIGUSR1)
            harness.until(lambda: harness.dumps(folder), "a first dump")
            end = time.monotonic() + dice.uniform(0.0, 0.4)
            while time.monotonic() < end:
                process.send_signal(signal.SIGUSR1)
                time.sleep(0.002)
            process.kill()
            process.wait()
        whole = harness.dumps(folder)
        assert whole and harness.load(whole[0])["tensors"]
        for dump in whole:
            harness.cli("info", dump)


def test_soak_with_signals_from_two_threads(tmp_path, long):
    """Snapshots all the time; at the end the table is the program's truth."""
    import threading
    stop = tmp_path / "stop"
    with harness.running("waiter.py", str(stop), "end", folder=tmp_path, quiet=1) as process:
        end = time.monotonic() + (600 if long else 5)

        def ask():
            while time.monotonic() < end:
                process.send_signal(signal.SIGUSR1)
                time.sleep(1 if long else 0.1)
        askers = [threading.Thread(target=ask) for _ in range(2)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        stop.touch()
        assert process.wait(harness.TIMEOUT) == 0
    known = harness.truth(tmp_path, "end")
    extra = harness.compare(harness.load(known["dump"]), known)
    assert len(extra) <= 64
    assert len(harness.dumps(tmp_path)) > 3
    for dump in harness.dumps(tmp_path)[:5]:
        harness.cli("info", dump)
