"""Trains for hours under the profiler, with snapshots, recordings, watched values and failures, and says whether the profiler's
own memory stayed as it was and its tables are the program's truth at the end.

    .venv/bin/python tests/endurance/soak.py FOLDER [--hours 2] [--steps 400]
    .venv/bin/python tests/endurance/soak.py FOLDER --judge       # of a run that has ended

FOLDER gets samples.csv (every five seconds), rounds.csv (at each round's end, when everything is freed and no dump is being
written: what is judged), verdict.txt, and the last few dumps. TENSORSCOPE_TEST_LIBRARY and TENSORSCOPE_TEST_PROGRAM name another
build than build/.
"""

import argparse
import csv
import json
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
import harness

WARM_UP = 0.1  # of the time, at least three rounds
MOST_GROWTH = 1 << 20
SNAPSHOT_SECONDS = 10
KEPT_DUMPS = 4
CHECKED_DUMP = 5  # every fifth is opened


def build_counter(folder):
    counter = folder / "libown_memory.so"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", HERE / "own_memory.c", "-o", counter], check=True)
    return counter


def settings(folder, counter):
    chosen = harness.environment(folder, signal="SIGUSR1", quiet=1, oom_dumps=65535, oom_interval_ms=20_000, oom_report=0,
                                 record_last="64MiB", record=0, watch="model.**")
    chosen["LD_PRELOAD"] += f":{counter}"
    chosen["SOAK_DIR"] = str(folder)
    chosen["PYTHONPATH"] = str(harness.PROGRAMS)
    chosen["TRANSFORMERS_VERBOSITY"] = "error"
    return chosen


def remove_old(folder, counts):
    """Opens every fifth dump, and keeps the newest few and those of the moments that are compared."""
    kept = {pathlib.Path(json.loads(path.read_text())["dump"]).name for path in folder.glob("*.json")}
    old = [path for path in harness.dumps(folder) if path.name not in kept][:-KEPT_DUMPS]
    for path in old:
        if counts["dumps"] % CHECKED_DUMP == 0:
            harness.cli("info", path)
            counts["opened"] += 1
        counts["oom"] += ".oom-" in path.name
        counts["dumps"] += 1
        path.unlink()


def run(folder, seconds, steps):
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(HERE / "soak_program.py"), str(seconds), str(steps)]
    counts = {"dumps": 0, "opened": 0, "oom": 0, "asked": 0}
    with open(folder / "output.txt", "w") as output:
        process = subprocess.Popen(command, env=settings(folder, build_counter(folder)), cwd=folder, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                process.wait(SNAPSHOT_SECONDS)
            except subprocess.TimeoutExpired:
                if (folder / "samples.csv").exists() and not (folder / "resting").exists():
                    process.send_signal(signal.SIGUSR1)
                    counts["asked"] += 1
                    remove_old(folder, counts)
    return process.returncode, counts


def same_tables(folder):
    """Compares the end with the program's own knowledge and with the third round's end. Returns lines of what differs."""
    wrong, sizes = [], {}
    for name in ("early", "end"):
        known = harness.truth(folder, name)
        exported = harness.load(pathlib.Path(folder) / pathlib.Path(known["dump"]).name)
        try:
            extra = len(harness.compare(exported, known))
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
            continue
        live = sum(item["nbytes"] for item in exported["allocations"])
        counted = sum(device["live_bytes"] for device in exported["totals"]["devices"])
        if not live == counted == sum(site["bytes_live"] for site in exported["sites"]):
            wrong.append(f"{name}: the sums of bytes differ: {live} in rows, {counted} in totals")
        sizes[name] = {"tensors": len(exported["tensors"]), "known to Python": len(known["tensors"]), "not in Python": extra,
                       "allocations": len(exported["allocations"]), "bytes": live}
    if len(sizes) == 2 and sizes["early"] != sizes["end"]:
        wrong.append(f"the end is not as the third round's end: {sizes['early']} then, {sizes['end']} at the end")
    return wrong, sizes.get("end")


def mib(count):
    return f"{count / (1 << 20):.2f} MiB"


def judge(folder, status=0, counts=None):
    """Returns the lines of the verdict and whether all is well."""
    with open(folder / "rounds.csv", newline="") as file:
        rounds = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    with open(folder / "samples.csv", newline="") as file:
        samples = [float(row["own"]) for row in csv.DictReader(file)]
    warm = [row for row in rounds[3:] if row["seconds"] >= WARM_UP * rounds[-1]["seconds"]]
    lines = [f"{rounds[-1]['seconds'] / 3600:.2f} hours, {len(rounds)} rounds, {rounds[-1]['step']:.0f} steps"]
    lines += (folder / "output.txt").read_text().strip().splitlines()[-1:]
    if counts:
        lines.append(f"{counts['asked']} snapshots asked for, {counts['dumps']} dumps written and removed ({counts['oom']} of failed "
                     f"allocations), {counts['opened']} of them opened")
    fine = status == 0
    if status != 0:
        lines.append(f"FAILED: the program ended with {status}")
    if len(warm) < 2:
        lines.append("too short: no round after the warm-up")
    else:
        for column in ("own", "own_resident", "own_heap", "library", "stacks", "process"):
            values = [row[column] for row in warm]
            lines.append(f"{column:>14} at the end of rounds: first {mib(values[0])}, last {mib(values[-1])}, least "
                         f"{mib(min(values))}, most {mib(max(values))}")
        grown = max(row["own"] for row in warm) - min(row["own"] for row in warm)
        fine = fine and grown <= MOST_GROWTH
        lines.append(f"{'passed' if grown <= MOST_GROWTH else 'FAILED'}: after the warm-up ({len(rounds) - len(warm)} rounds) the "
                     f"profiler's own memory differed by {mib(grown)} at most (limit {mib(MOST_GROWTH)})")
    lines.append(f"most of its own memory at any sample, recordings and dumps included: {mib(max(samples))}")
    wrong, sizes = same_tables(folder)
    lines += [f"FAILED: {line}" for line in wrong] or [f"passed: the tables at the end are the program's truth: {sizes}"]
    return lines, fine and not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument("--steps", type=int, default=400, help="of a round")
    parser.add_argument("--judge", action="store_true", help="only judge a run that has ended")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    began = time.monotonic()
    status, counts = (0, None) if chosen.judge else run(folder, chosen.hours * 3600, chosen.steps)
    lines, fine = judge(folder, status, counts)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if not chosen.judge:
        (folder / "verdict.txt").write_text(text)
        print(f"took {(time.monotonic() - began) / 60:.0f} minutes")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
