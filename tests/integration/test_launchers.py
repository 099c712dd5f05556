# SPDX-License-Identifier: Apache-2.0
"""The lines of docs/install.md that start several processes of a job: each rank has the profiler and writes its dumps."""
# Covers: analyzer/cli/run.cc

import os
import shutil
import socket
import subprocess
import sys

import pytest

import harness

TRAIN = """
import os, torch
rank = int(next((os.environ[name] for name in ("RANK", "OMPI_COMM_WORLD_RANK") if name in os.environ), 0))
kept = torch.ones(1000, rank + 1)
"""
RUN = [harness.CLI, "run", "--exit", "always", "--dir", "dumps", "--name", "{program}.{host}.{rank}.{pid}.{n}", "--"]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]  # as root on two cores, in CI
ACCELERATE = ["accelerate", "launch", "--cpu", "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]


@pytest.mark.parametrize("line, ranks", [
    ([*RUN, "torchrun", "--nproc-per-node", "2", "train.py"], 2),
    ([*RUN, *ACCELERATE, "train.py"], 1),
    ([*MPIRUN, *RUN, harness.PYTHON, "train.py"], 2),
    ([*RUN, *MPIRUN, harness.PYTHON, "train.py"], 2),
], ids=["torchrun", "accelerate", "mpirun starts run", "run starts mpirun"])
@pytest.mark.cases(2)
def test_each_rank_has_its_dump(line, ranks, tmp_path):
    environment = harness.environment(preload=False, low_memory="off")
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:{environment['PATH']}"
    for program in ("torchrun", "accelerate", "mpirun"):
        if program in line and not shutil.which(program, path=environment["PATH"]):
            pytest.skip(f"no {program}")
    (tmp_path / "dumps").mkdir()
    (tmp_path / "train.py").write_text(TRAIN)
    done = subprocess.run([str(word) for word in line], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=harness.TIMEOUT,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    dumps = harness.dumps(tmp_path / "dumps", "train.*.exit.tscope")
    assert sorted(dump.name.split(".")[-4] for dump in dumps) == [str(rank) for rank in range(ranks)], done.stderr
    for dump in dumps:
        assert dump.name.startswith(f"train.{socket.gethostname()}.")
        kept, = [tensor for tensor in harness.load(dump)["tensors"] if "kept" in str(tensor["names"])]
        assert kept["shape"] == [1000, int(dump.name.split(".")[-4]) + 1]
