# SPDX-License-Identifier: Apache-2.0
"""tests/endurance/torch_tests.py, which runs PyTorch's own tests with and without the library, says what differs, and nothing else."""

import subprocess
import sys

import harness

TESTS = """
import os, pathlib
import torch

def test_same():
    assert torch.ones(3).sum() == 3

def test_fails_both_ways():
    assert torch.ones(3).sum() == 4

def test_changed():
    assert "LD_PRELOAD" not in os.environ

def test_once():
    seen = pathlib.Path("seen")
    first = "LD_PRELOAD" in os.environ and not seen.exists()
    if first:
        seen.touch()
    assert not first
"""


def compared(folder, *files):
    return subprocess.run([sys.executable, harness.ROOT / "tests/endurance/torch_tests.py", "--python", sys.executable, "--tests", folder, *files],
                          capture_output=True, text=True, timeout=600)


def test_differences(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    done = compared(tmp_path, "test_some")
    first, *rest = done.stdout.splitlines()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 tests, 1 passed with it, 2 differed once, 1 each time; 4 dumps; exit status 1 and 1" in first
    assert rest == ["4 tests, 1 passed with it; 4 dumps were read; 1 wrong", "test_some.test_changed: passed without, failure with it"]


def test_no_difference(tmp_path):
    (tmp_path / "test_some.py").write_text("def test_fails_both_ways():\n    assert 1 == 2\n")
    done = compared(tmp_path, "test_some")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "1 tests, 0 passed with it; 0 dumps were read; 0 wrong"
