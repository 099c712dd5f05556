# SPDX-License-Identifier: Apache-2.0
"""Source lines come from the dump: the analyzer opens no file that a dump names."""

# Covers: preload/dump/source/source_chunk.cc
# Covers: analyzer/cli/info_files.cc

import json
import os
import subprocess

import harness
import pytest

PROGRAM = """import os, sys, torch, truth
import layers
kept = layers.make(1 << 18)  # the call
os.rename('layers.py', 'moved.py')
if 'changes' in sys.argv:
    with open('program.py', 'a') as file:
        file.write('# written while it runs')
truth.moment()
"""
LAYERS = "import torch\ndef make(n):\n    \treturn torch.ones(n)  # the maker\n"


@pytest.fixture
def dump(tmp_path):
    """Runs the program, whose files are older than its process, and returns its dump."""
    def make(*arguments, **options):
        for name, text in (("layers.py", LAYERS), ("program.py", PROGRAM)):
            (tmp_path / name).write_text(text)
            os.utime(tmp_path / name, (1_000_000_000, 1_000_000_000))
        settings = harness.environment(tmp_path, **{"exit": "never", **options})
        settings["PYTHONPATH"] = str(harness.PROGRAMS)
        done = subprocess.run([harness.PYTHON, str(tmp_path / "program.py"), *arguments], env=settings, cwd=tmp_path,
                              capture_output=True, text=True, timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        (found,) = harness.dumps(tmp_path)
        return found
    return make


def stacks(dump, *arguments):
    return harness.cli("report", dump, "--full-stacks", *arguments, env={**os.environ, "COLUMNS": "400"}).stdout


def info(dump):
    return " ".join(harness.cli("info", dump, env={**os.environ, "COLUMNS": "400"}).stdout.split())


def test_the_dump_has_the_lines_that_ran(dump, tmp_path):
    path = dump()
    (tmp_path / "program.py").write_text("something else\n" * 10)
    rows = json.loads(harness.cli("export", path, "--format", "json").stdout)["tensors"]
    (tensor,) = [row["id"] for row in rows if row["shape"] == [1 << 18]]
    text = harness.cli("show", path, str(tensor)).stdout
    assert "kept = layers.make(1 << 18)  # the call" in text, text
    assert "something else" not in text
    (tmp_path / "program.py").unlink()
    assert "kept = layers.make(1 << 18)  # the call" in stacks(path)


def test_a_file_that_was_gone_has_no_lines(dump, tmp_path):
    path = dump()
    assert "# the maker" not in stacks(path)
    assert "2 files; unreadable: layers.py" in info(path)
    assert "source lines" not in harness.cli("report", path).stdout  # they change no number of a report
    # The user knows where it is.
    (tmp_path / "elsewhere").mkdir()
    os.rename(tmp_path / "moved.py", tmp_path / "elsewhere" / "layers.py")
    assert "# the maker" not in stacks(path, "--source", str(tmp_path))
    os.rename(tmp_path / "elsewhere" / "layers.py", tmp_path / "layers.py")
    assert "return torch.ones(n)  # the maker" in stacks(path, "--source", str(tmp_path))
    assert "return torch.ones(n)  # the maker" in stacks(path, "--source", "/")


def test_a_file_that_changed_while_it_ran_is_not_believed(dump, tmp_path):
    path = dump("changes")
    for report in (stacks(path), stacks(path, "--source", str(tmp_path))):
        assert "# the call" not in report and "written while it runs" not in report
    assert "changed after the process started: program.py" in info(path)
    assert "source lines no some source files changed after the process started" in info(path)


def test_switched_off(dump, tmp_path):
    path = dump(source=0)
    assert "# the call" not in stacks(path), "the file is there, but only the dump named it"
    assert "source lines no switched off by TENSORSCOPE_SOURCE" in info(path)
    assert "# the call" in stacks(path, "--source", str(tmp_path))


def test_an_out_of_memory_dump_has_its_failing_line(tmp_path):
    source = "import torch\ntry:\n    torch.empty(1 << 60, dtype=torch.uint8)  # too much\nexcept RuntimeError:\n    pass\n"
    done = harness.run_source(source, folder=tmp_path, exit="never")
    assert done.returncode == 0 and "out of memory" in done.stderr, done.stderr
    (path,) = harness.dumps(tmp_path, "*oom-1*")
    (tmp_path / "program.py").unlink()
    assert "# too much" in harness.cli("oom", path, status=None).stdout
