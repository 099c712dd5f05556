# SPDX-License-Identifier: Apache-2.0
"""Numbers of benchmarks are kept with commit and machine, and scripts/bench shows one over commits."""

import datetime
import json
import subprocess
import sys

import harness

BENCH = harness.ROOT / "tests" / "bench"
SCRIPT = harness.ROOT / "scripts" / "bench"
HELPERS = {"bench_history.py", "loops.py", "run_loop.py"}


def bench(folder, *arguments):
    return subprocess.run([SCRIPT, *arguments], env={"PATH": "/usr/bin:/bin", "BENCH_HISTORY": str(folder)}, capture_output=True, text=True)


def row(commit, value, case="tiny on/off", machine="a processor, 2 cores"):
    return {"time": "2026-11-28T06:00:00+00:00", "commit": commit, "machine": machine, "bench": "overhead", "case": case, "value": value, "unit": "ratio"}


def write(folder, *rows):
    (folder / "2026-11-28.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))


def test_a_number_is_kept_with_its_commit_and_machine(tmp_path):
    source = "import bench_history\nbench_history.keep('tiny on/off', 1.0914, 'ratio', bench='overhead')\n"
    subprocess.run([sys.executable, "-c", source], cwd=BENCH, env={"PATH": "/usr/bin:/bin", "BENCH_HISTORY": str(tmp_path)}, check=True)
    [file] = tmp_path.iterdir()
    assert datetime.date.fromisoformat(file.stem)
    kept = json.loads(file.read_text())
    assert (kept["bench"], kept["case"], kept["value"], kept["unit"]) == ("overhead", "tiny on/off", 1.0914, "ratio")
    assert kept["commit"] and "cores" in kept["machine"]


def test_a_library_from_elsewhere_is_of_no_commit(tmp_path):
    source = "import bench_history\nprint(bench_history.commit())\n"
    for settings, known in (({}, True), ({"TENSORSCOPE_BUILD": str(harness.ROOT / "build")}, True), ({"TENSORSCOPE_BUILD": "/elsewhere"}, False),
                            ({"LD_PRELOAD": str(tmp_path / "libtensorscope.so")}, False)):
        done = subprocess.run([sys.executable, "-c", source], cwd=BENCH, env={"PATH": "/usr/bin:/bin", **settings}, capture_output=True, text=True, check=True)
        assert (done.stdout.strip() != "unknown") is known, settings


def test_a_number_over_commits_is_a_median_and_its_change(tmp_path):
    write(tmp_path, row("aaa", 1.0), row("aaa", 3.0), row("aaa", 1.2), row("bbb", 1.5), row("bbb", 9, case="large on/off"))
    lines = bench(tmp_path, "overhead", "tiny").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["tiny", "on/off,", "ratio,", "on", "a", "processor,", "2", "cores"],
        ["2026-11-28", "aaa", "1.2", "of", "3"], ["2026-11-28", "bbb", "1.5", "+25.0", "%", "of", "1"]]


def test_numbers_of_two_machines_are_not_compared(tmp_path):
    write(tmp_path, row("aaa", 1.0), row("bbb", 2.0, machine="another, 16 cores"))
    assert "%" not in bench(tmp_path, "overhead").stdout


def test_what_was_not_kept_is_one_line(tmp_path):
    write(tmp_path, row("aaa", 1.0))
    assert bench(tmp_path).stdout == "overhead: 1 numbers of 1 commits: tiny on/off\n"
    for arguments in (("nothing",), ("overhead", "huge")):
        done = bench(tmp_path, *arguments)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    done = bench(tmp_path, "--run", "no_such_benchmark")
    assert done.returncode == 2 and "build it first" in done.stderr


def test_every_benchmark_keeps_its_numbers():
    scripts = [file for file in BENCH.glob("*.py") if file.name not in HELPERS]
    assert len(scripts) > 10
    # What measures by another benchmark's functions keeps by them.
    assert [file.name for file in scripts if not {"bench_history.keep", "show("} & {word for word in ("bench_history.keep", "show(") if word in file.read_text()}] == []
