# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check, which is for a real GPU, on the double of the CUDA libraries: every check runs, and what cannot work there says so."""
import subprocess
import sys

import pytest

import harness

SCRIPT = harness.ROOT / "scripts" / "gpu-check"
LIMIT = 1200  # a hang: some thirty processes import torch


def gpu_check(python, *arguments):
    return subprocess.run([SCRIPT, "--python", str(python), "--library", harness.LIBRARY, "--tensorscope", harness.CLI, *arguments],
                          capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)


def test_no_gpu_is_one_clear_line():
    done = gpu_check(sys.executable)
    assert done.returncode == 2
    assert done.stdout.count("\n") == 1 and "has no CUDA build of PyTorch that sees a GPU" in done.stdout
    assert done.stderr == ""


def test_not_built_is_one_clear_line(tmp_path):
    done = subprocess.run([SCRIPT, "--library", tmp_path / "none.so"], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2
    assert done.stdout.count("\n") == 1 and "build first" in done.stdout


def test_a_program_that_does_not_run_is_one_clear_line(tmp_path):
    program = tmp_path / "tensorscope"
    program.write_text("#!/bin/sh\necho 'libdw.so.1: cannot open shared object file' >&2\nexit 127\n")
    program.chmod(0o755)
    done = subprocess.run([SCRIPT, "--library", harness.LIBRARY, "--tensorscope", program], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2
    assert done.stdout.count("\n") == 1 and "does not run here: libdw.so.1" in done.stdout


@harness.needs_fake_cuda
@pytest.mark.parametrize("chosen, least", [(("live table", "pinned"), 2), pytest.param((), 20, marks=pytest.mark.cases(0))], ids=["two", "all"])
def test_checks_on_the_double(chosen, least, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)
    done = gpu_check(harness.FAKE_CUDA, "--overhead-pairs", "1", "--overhead-seconds", "0.5", *chosen)
    about, *lines = done.stdout.splitlines()
    assert "a double of NVIDIA's libraries" in about
    assert len(lines) >= least
    assert {line[:8].strip() for line in lines} <= {"ok", "skipped"}, done.stdout
    skipped = [line for line in lines if line.startswith("skipped")]
    assert all("torch.compile" in line or "CUPTI" in line for line in skipped), skipped
    assert done.returncode == 0
