# SPDX-License-Identifier: Apache-2.0
"""Instructions that a training step takes, bare and under the preload, by `perf stat`: a measure that other work on the machine does not change.

    .venv/bin/python tests/bench/instructions.py [LOOP] [--nested N] [--library FILE ...]

--nested: the loop runs below N calls that go from Python through C to Python again, as in frameworks. Two runs of different length are
subtracted from each other, so that neither start nor end counts. Needs perf (Debian: linux-perf) and a processor that counts.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import bench_history

FOLDER = pathlib.Path(__file__).resolve().parent
LIBRARY = FOLDER.parents[1] / "build" / "preload" / "libtensorscope.so"
SHORT, LONG = 100, 1600
PROGRAM = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import loops, torch
torch.set_num_threads(1)
step, _ = loops.make(sys.argv[1])

def run(depth):
    if depth == 0:
        for _ in range(int(sys.argv[2])):
            step()
    else:
        list(map(run, [depth - 1]))

run(int(sys.argv[3]))
"""


def instructions(loop, steps, nested, library):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TENSORSCOPE_EXIT": "never", "TENSORSCOPE_QUIET": "1"}
    preload = [f"LD_PRELOAD={library}"] if library else []
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "env", *preload, sys.executable, "-c", PROGRAM, loop, str(steps), str(nested)],
                          env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    count = next(line for line in done.stderr.splitlines() if "instructions" in line).split(",")[0]
    if not count.isdigit():
        raise SystemExit("instructions.py: this processor counts no instructions for perf (a virtual machine?)")
    return int(count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loop", nargs="?", default="tiny")
    parser.add_argument("--nested", type=int, default=0)
    parser.add_argument("--library", action="append")
    arguments = parser.parse_args()
    of = {}
    for library in [None, *(arguments.library or [LIBRARY])]:
        took = [instructions(arguments.loop, steps, arguments.nested, library) for steps in (SHORT, LONG)]
        of[library] = (took[1] - took[0]) / (LONG - SHORT)
        more = of[library] - of[None]
        bench_history.keep(f"{arguments.loop} {'bare' if library is None else 'with the library'}", of[library], "instructions a step")
        print(f"{of[library] / 1000:9.1f} thousand instructions a step   {'bare' if library is None else f'{library}: {more / 1000:.1f} more, {of[library] / of[None]:.3f}'}")


if __name__ == "__main__":
    main()
