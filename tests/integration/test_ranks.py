# SPDX-License-Identifier: Apache-2.0
"""`tensorscope ranks` on real jobs: its answers against what the ranks know of themselves."""

# Covers: preload/torch_events/step_hook.cc
# Covers: preload/collector/step_dumps.cc
# Covers: preload/python/heap_inspector/naming/process_groups.cc
# Covers: preload/dump/groups_chunk.cc
# Covers: analyzer/text/ranks/holders.cc

import contextlib
import json
import shutil
import socket
import subprocess

import pytest

import harness

KEPT = 4 << 20  # bytes that rank 2 keeps in a step


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def started(folder, kind, world=4, **options):
    """The ranks of a job, as a launcher would start them."""
    port, ranks = free_port(), []
    try:
        for rank in range(world):
            settings = harness.environment(folder, exit="never", **options)
            settings |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world),
                         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            with open(folder / f"{rank}.err", "w") as errors:
                ranks.append(subprocess.Popen(harness.command("job.py", kind), env=settings, cwd=folder, stdin=subprocess.PIPE,
                                              stdout=subprocess.PIPE, stderr=errors, text=True))
        yield ranks
    finally:
        for process in ranks:
            if process.poll() is None:
                process.kill()
            process.communicate()


def finished(folder, ranks):
    for rank, process in enumerate(ranks):
        process.communicate(timeout=harness.TIMEOUT)
        assert process.returncode == 0, (folder / f"{rank}.err").read_text()


def ran(folder, kind, **options):
    with started(folder, kind, **options) as ranks:
        finished(folder, ranks)
    return answer_of(folder, len(ranks))


def answer_of(folder, world):
    said = json.loads(harness.cli("ranks", folder, "--json", status=None).stdout)
    return said, [harness.truth(folder, str(rank)) for rank in range(world)]


def row(said, of, name):
    (found,) = [row for row in said["rows"] if (row["of"], row["name"]) == (of, name)]
    return found


def groups(said, rank):
    return {group["mesh_dimension"]: group["ranks"] for group in said["ranks"][rank]["process_groups"]}


def check(said, known, *categories):
    """What holds for each job that trains: steps, sums by category, and rank 2 that keeps what it collects."""
    assert said["tensorscope"]["unreadable"] == [] and said["answer"]["missing"] == []
    assert said["answer"]["world_size"] == len(known)
    assert [rank["pid"] for rank in said["ranks"]] == [truth["pid"] for truth in known]
    if harness.torch_version() >= (2, 1):  # the first with hooks of optimizers' steps
        assert said["answer"]["moment"]["kind"] == "step"
        assert [moment["step"] for moment in said["moments"]] == [2, 3, 4, 5] and said["answer"]["moment"]["value"] == 5
    for category in categories:
        assert row(said, "category", category)["bytes"] == [truth[category] for truth in known]
    (site,) = [row for row in said["rows"] if row["of"] == "site" and "collect" in row["name"]]
    assert site["bytes"] == [truth["kept"] for truth in known] and site["most_on"] == 2
    (growth,) = [row for row in said["growth"] if "collect" in row["site"]]
    assert (growth["most"], growth["most_on"], growth["ranks"], growth["median"]) == (3 * KEPT, 2, 1, 0)


@pytest.fixture(scope="module")
def ddp(tmp_path_factory):
    """The folder of the job, and its answer."""
    folder = tmp_path_factory.mktemp("ddp")
    return folder, *ran(folder, "ddp")


def test_ddp_with_four_processes(ddp):
    folder, said, known = ddp
    check(said, known, "parameter", "optimizer state")
    assert row(said, "category", "parameter")["same"]
    assert {outlier["rank"] for outlier in said["outliers"]} == {2}
    total = said["outliers"][0]
    assert total["of"] == "total" and abs(total["difference"] - 5 * KEPT) < 64 << 10
    assert groups(said, 1) == {None: [0, 1, 2, 3]}
    text = harness.cli("ranks", folder, status=1).stdout
    assert "4 of 4 ranks" in text and "outliers: rank 2" in text
    held = [outlier["holders"] for outlier in said["outliers"] if outlier["holders"]]
    assert len(held) == 1 and "kept[0..4] (list)" in held[0] and held[0] in " ".join(text.split()), text


def test_a_missing_rank_and_leaks_of_one_rank(ddp, tmp_path):
    for dump in ddp[0].glob("*.tscope"):
        if ".rank1." not in dump.name:
            shutil.copy2(dump, tmp_path)
    said = json.loads(harness.cli("ranks", tmp_path, "--json", "--leaks", status=1).stdout)
    assert said["answer"]["missing"] == [1]
    (leak,) = [leak for leak in said["leaks"] if "kept" in leak["held_by"]]
    assert leak["ranks"] == [2] and leak["most"] == 5 * KEPT


def test_fsdp(tmp_path):
    harness.needs_torch(2, 6, "torch.distributed.fsdp.fully_shard")
    said, known = ran(tmp_path, "fsdp")
    check(said, known)
    assert groups(said, 3)["dp"] == [0, 1, 2, 3]
    assert {outlier["rank"] for outlier in said["outliers"]} == {2}


def test_a_pipeline_with_two_stages(tmp_path):
    harness.needs_torch(2, 6, "torch.distributed.pipelining")
    said, known = ran(tmp_path, "pipeline")
    check(said, known, "parameter")
    assert [rank["stage"] for rank in said["ranks"]] == [truth["stage"] for truth in known] == [0, 0, 1, 1]
    parameters = row(said, "category", "parameter")
    assert parameters["same"] and parameters["least"] < parameters["most"]  # within a stage
    assert groups(said, 3)["pp"] == [1, 3] and groups(said, 3)["dp"] == [2, 3]


def test_steps_of_the_variable_are_dumped_on_all_ranks(tmp_path):
    harness.needs_torch(2, 1, "hooks of optimizers' steps")
    (tmp_path / "steps").write_text("1\n")
    said, _known = ran(tmp_path, "ddp", world=2, dump_at_step=f"@{tmp_path}/steps")
    assert [(moment["step"], moment["ranks"]) for moment in said["moments"]] == [(step, 2) for step in (1, 2, 3, 4, 5)]


def test_a_snapshot_of_a_job_has_its_ranks_and_their_workers(tmp_path):
    with started(tmp_path, "workers", world=2) as ranks:
        for rank, process in enumerate(ranks):
            assert process.stdout.readline() == "ready\n", (tmp_path / f"{rank}.err").read_text()
        written = harness.cli("snapshot", "--job", ranks[1].pid).stdout.split()
        assert len(written) == 6 and len(harness.dumps(tmp_path)) == 6
        nobody = harness.cli("snapshot", "--job", 1, status=2)
        assert "process 1 is no rank of a job under tensorscope" in nobody.stderr
        for process in ranks:
            process.stdin.write("\n")
            process.stdin.flush()
        finished(tmp_path, ranks)
    said = json.loads(harness.cli("ranks", tmp_path, "--json", status=None).stdout)
    known = [harness.truth(tmp_path, str(rank)) for rank in range(2)]
    assert [rank["pid"] for rank in said["ranks"]] == [truth["pid"] for truth in known]
    for rank, truth in zip(said["ranks"], known, strict=True):
        assert sorted(worker["pid"] for worker in rank["workers"]) == sorted(truth["workers"])
        assert rank["step"] == (1 if harness.torch_version() >= (2, 1) else None)
    assert said["answer"]["left_out"] == {"other_jobs": 0, "earlier_runs": 0, "without_rank": 0}
