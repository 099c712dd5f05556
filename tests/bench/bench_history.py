# SPDX-License-Identifier: Apache-2.0
"""Numbers of benchmarks over commits.

keep() appends a number with its commit and machine to a file a day, build-bench/2026-11-28.jsonl, or in the folder that
BENCH_HISTORY names; every benchmark here calls it. scripts/bench prints what was kept.
"""

import datetime
import functools
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder():
    return pathlib.Path(os.environ.get("BENCH_HISTORY") or ROOT / "build-bench")


def git(*arguments):
    """What git prints; "" where this tree is no repository."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], env=environment, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""


def built_from():
    """The library that this process runs under and the build folder that it was told to measure, if there are any."""
    yield from (path for path in os.environ.get("LD_PRELOAD", "").split(":") if "tensorscope" in path)
    if "TENSORSCOPE_BUILD" in os.environ:
        yield os.environ["TENSORSCOPE_BUILD"]


@functools.lru_cache(maxsize=None)
def commit():
    """Commit of the tree, with "+" if something in it has changed since; "unknown" of what was built elsewhere."""
    if any(not pathlib.Path(path).resolve().is_relative_to(ROOT) for path in built_from()):
        return "unknown"
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


@functools.lru_cache(maxsize=None)
def machine():
    """Processor and number of cores: only numbers of one machine are comparable."""
    models = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return f"{models[0] if models else os.uname().machine}, {len(os.sched_getaffinity(0))} cores"


def keep(case, value, unit, bench=None):
    """Keeps one number. `case`: what was measured, "tiny on/off"; `unit`: "ratio", "ms", "bytes" ...; `bench`: this script's name."""
    row = {"time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "commit": commit(), "machine": machine(),
           "bench": bench or pathlib.Path(sys.argv[0]).stem, "case": case, "value": float(f"{value:.6g}"), "unit": unit}
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / f"{row['time'][:10]}.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def rows():
    """Every row that was kept, the oldest first."""
    return [json.loads(line) for file in sorted(folder().glob("*.jsonl")) for line in file.read_text().splitlines()]
