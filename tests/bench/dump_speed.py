# SPDX-License-Identifier: Apache-2.0
"""How long the first phase of a dump takes, and for how long it stops the program (docs/benchmarks.md).

Makes `--tensors` live tensors in the real torch under the preload, takes `--dumps` dumps and prints medians: the time
from the request to the end of phase 1, the time all tables were locked, and the processor time of the whole dump, which
other work on the machine disturbs less.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import bench_history

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", ROOT / "build"))


def target(tensors, dumps, kind):
    """Runs in the process that is profiled."""
    import torch

    torch.set_num_threads(1)
    weight = torch.ones(2, requires_grad=kind == "autograd")
    kept = [weight * 2 if kind == "autograd" else torch.empty(2, 3) for _ in range(tensors)]
    timed_dumps(dumps)
    assert len(kept) == tensors


def times_of(dump):
    text = subprocess.run([BUILD / "analyzer" / "tensorscope", "export", dump, "--format", "json", "--no-symbols"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text)["totals"]


def run_target(script, *arguments, folder):
    """Runs a benchmark's own target under the preload, with its dumps in `folder`; what it printed."""
    environment = dict(os.environ, LD_PRELOAD=str(BUILD / "preload" / "libtensorscope.so"), OMP_NUM_THREADS="1",
                       TENSORSCOPE_EXIT="never", TENSORSCOPE_QUIET="1", TENSORSCOPE_DIR=folder)
    done = subprocess.run([sys.executable, script, *arguments, *sys.argv[1:]], env=environment, check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout


def timed_dumps(count):
    """In the process that is profiled: takes dumps and prints the processor time and the path of each."""
    import libtensorscope

    for _ in range(count):
        before = time.process_time_ns()
        path = libtensorscope.dump()
        print(time.process_time_ns() - before, path, flush=True)


def rows_of(output):
    """What timed_dumps() printed: [nanoseconds, path] of each dump."""
    return [line.split(" ", 1) for line in output.splitlines()]


def measure(arguments):
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(run_target(__file__, "--target", folder=folder))
        totals = [times_of(path) for _, path in rows]
        size = os.path.getsize(rows[-1][1])
    show("processor time of a dump", [int(ns) for ns, _ in rows])
    show("phase 1", [total["phase1_ns"] for total in totals])
    show("program stopped", [total["stopped_ns"] for total in totals])
    print(f"{totals[-1]['tensors_live']} live tensors, a dump of {size / 1e6:.1f} MB")


def show(what, ns):
    bench_history.keep(what, statistics.median(ns) / 1e6, "ms")
    print(f"{what:26} median {statistics.median(ns) / 1e6:7.2f} ms, least {min(ns) / 1e6:7.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tensors", type=int, default=100_000)
    parser.add_argument("--dumps", type=int, default=5)
    parser.add_argument("--kind", choices=["plain", "autograd"], default="plain")
    parser.add_argument("--target", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.target:
        target(arguments.tensors, arguments.dumps, arguments.kind)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
