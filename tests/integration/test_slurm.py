# SPDX-License-Identifier: Apache-2.0
"""The lines of docs/install.md under Slurm: a cluster of one node, this machine, whose daemons run as the test's user.

Debian: apt-get install slurmctld slurmd slurm-client munge. The daemons listen on ports of 127.0.0.1 and keep all their files in
a temporary folder.
"""
# Covers: preload/support/process_info.cc analyzer/cli/snapshot.cc analyzer/process/target_process.cc

import contextlib
import getpass
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest

import harness

DAEMONS = ("munged", "slurmctld", "slurmd")
PATH = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}:/usr/sbin:/sbin"
RUN = [harness.CLI, "run", "--exit", "always", "--dir", "dumps", "--name", "{program}.{host}.{rank}.{pid}.{n}", "--"]
CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
TRAIN = r"""
import os, pathlib, sys, time, torch
import torch.distributed as dist
started_by_slurm = "RANK" not in os.environ
rank = int(os.environ["SLURM_PROCID" if started_by_slurm else "RANK"])
world = int(os.environ["SLURM_NTASKS" if started_by_slurm else "WORLD_SIZE"])
where = {"init_method": f"file://{os.getcwd()}/store", "rank": rank, "world_size": world} if started_by_slurm else {}
dist.init_process_group("gloo", **where)
kept = torch.ones(1000, rank + 1)
total = kept.sum()
dist.all_reduce(total)
assert total.item() == 1000 * world * (world + 1) / 2
os.write(1, f"ready {rank} {os.getpid()}\n".encode())
while not pathlib.Path("go").exists():
    time.sleep(0.1)
dist.barrier()
dist.destroy_process_group()
"""


def free_ports(number):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in sockets]


@pytest.fixture(scope="module")
def cluster():
    """The environment of programs that talk to the cluster."""
    for program in (*DAEMONS, "srun", "sinfo", "scontrol"):
        if not shutil.which(program, path=PATH):
            pytest.skip(f"no {program}: Debian's packages slurmctld, slurmd, slurm-client and munge are not installed")
    host = socket.gethostname().split(".")[0]
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as name, contextlib.ExitStack() as stack:  # paths of sockets are short
        folder = pathlib.Path(name)
        for part in ("munge", "state", "spool"):
            (folder / part).mkdir(mode=0o755)
        (folder / "munge/key").write_bytes(os.urandom(128))
        (folder / "munge/key").chmod(0o600)
        (folder / "slurm.conf").write_text(CONFIGURATION.format(host=host, ports=free_ports(2), user=getpass.getuser(), folder=folder))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("TENSORSCOPE", "SLURM"))}
        environment |= {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf"), "OMP_NUM_THREADS": "1", "TENSORSCOPE_LOW_MEMORY": "off"}
        munge = [f"--{what}-file={folder}/munge/{what}" for what in ("key", "log", "pid", "seed")]
        daemons = []

        def start(*command):
            with open(folder / f"{command[0]}.log", "w") as log:
                daemons.append(subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
            stack.callback(stop, daemons[-1])

        def logs():
            return "\n".join(path.read_text() for path in folder.glob("*.log"))

        def is_up():
            assert all(daemon.poll() is None for daemon in daemons), logs()
            asked = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
            time.sleep(0.2)
            return asked.stdout.strip() == "idle"

        start("munged", "--foreground", "--force", f"--socket={folder}/munge/socket", *munge)
        harness.until((folder / "munge/socket").exists, "munged's socket", 60)
        start("slurmctld", "-D", "-i")
        start("slurmd", "-D", "-N", host)
        harness.until(is_up, "a node that is idle", 60)
        yield environment


def stop(process):
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def job(cluster, folder, *command, ranks=2):
    """A job whose ranks have said that they are ready; they go on and have to succeed when the block ends."""
    (folder / "dumps").mkdir()
    (folder / "train.py").write_text(TRAIN)
    with open(folder / "errors", "w") as errors:
        process = subprocess.Popen([str(word) for word in command], env=cluster, cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        ready = [process.stdout.readline().split() for _ in range(ranks)]
        assert sorted(words[:2] for words in ready) == [["ready", str(rank)] for rank in range(ranks)], (folder / "errors").read_text()
        yield [int(words[2]) for words in ready]
    finally:
        (folder / "go").touch()
        try:
            process.communicate(timeout=harness.TIMEOUT)
        finally:
            stop(process)
    assert process.returncode == 0, (folder / "errors").read_text()


def check_answer(folder):
    """What `ranks` says of the dumps: the two ranks of the job, and none missing."""
    said = json.loads(harness.cli("ranks", folder, "--json", status=None).stdout)
    assert [rank["rank"] for rank in said["ranks"]] == [0, 1] and said["tensorscope"]["unreadable"] == []
    assert said["answer"]["world_size"] == 2 and said["answer"]["missing"] == []
    return said["answer"]


def kept_of(dump):
    kept, = [tensor for tensor in harness.load(dump)["tensors"] if "kept" in str(tensor["names"])]
    return kept["shape"]


def test_each_task_of_srun_is_a_rank(cluster, tmp_path):
    with job(cluster, tmp_path, "srun", "-n", "2", *RUN, harness.PYTHON, "train.py") as pids:
        written = harness.cli("snapshot", "--job", pids[0]).stdout.split()
        assert sorted(kept_of(dump) for dump in written) == [[1000, 1], [1000, 2]]
    dumps = harness.dumps(tmp_path / "dumps", "train.*.exit.tscope")
    ranks = {int(dump.name.split(".")[-4]): dump for dump in dumps}
    assert len(dumps) == 2 and {rank: kept_of(dump) for rank, dump in ranks.items()} == {0: [1000, 1], 1: [1000, 2]}
    assert check_answer(tmp_path / "dumps")["job"].startswith("slurm-")


TORCHRUN = ["torchrun", "--nproc-per-node", "2", "train.py"]


@pytest.mark.parametrize("tasks", [1, 2], ids=["one task", "two tasks"])
def test_a_launcher_that_srun_starts_is_no_rank_of_the_job(cluster, tmp_path, tasks):
    """As on a cluster: srun starts torchrun once a node, and that starts the ranks. The second task here has nothing to do."""
    line = [*RUN, *TORCHRUN]
    if tasks == 2:
        shell = 'if [ "$SLURM_PROCID" = 0 ]; then exec "$@"; fi; while [ ! -e go ]; do sleep 0.1; done'
        line = ["sh", "-c", shell, "sh", *line]
    with job(cluster, tmp_path, "srun", "-n", tasks, *line):
        asked = harness.cli("snapshot", "--job", status=None)
        if "slurm-" not in asked.stderr and "several jobs" in asked.stderr:
            pytest.skip(f"other jobs run here: {asked.stderr}")
        assert asked.returncode == 0, asked.stderr
        assert sorted(kept_of(dump) for dump in asked.stdout.split()) == [[1000, 1], [1000, 2]]
    check_answer(tmp_path / "dumps")
