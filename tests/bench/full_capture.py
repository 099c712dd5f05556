# SPDX-License-Identifier: Apache-2.0
"""How fast all elements of large tensors are recorded, beside copies of the same bytes in memory and to the same disk, in one run.

    .venv/bin/python tests/bench/full_capture.py [--rounds N] [--mib N] [--values N] [--folder DIR]

Three ways take turns: each value is cloned (memory); written to a file by one write() (disk); recorded by a watch with keep = "full" and
when_full = "wait". Told is the best of the rounds, in GB/s of wall time: for the program alone (while the queue of 256 MiB has room,
and in all), and until the file is whole.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import bench_history

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "preload" / "libtensorscope.so"
WATCH = 'when_full = "wait"\n[[watch]]\npath = "model"\nkeep = "full"\n'
IN_QUEUE = 3  # values that find room in the queue, whatever the disk does
SOURCE = """
import os, sys, time, torch

way, values, elements, first = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(1)
model = torch.nn.Identity()
model(torch.zeros(1))
x = torch.ones(elements)
file = os.open("copy", os.O_CREAT | os.O_WRONLY) if way == "disk" else -1
begin, held = time.time(), []
for _ in range(values):
    x[0] += 1
    before = time.monotonic()
    if way == "memory":
        copy = x.clone()
    elif way == "disk":
        os.write(file, memoryview(x.numpy()).cast("B"))
    else:
        model(x)
    held.append(time.monotonic() - before)
    copy = None
print(begin, sum(held[:first]), sum(held), flush=True)
"""


def run(way, arguments, folder):
    """Seconds: of the first values, of all, until the file was whole."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TENSORSCOPE_DIR": folder, "TENSORSCOPE_QUIET": "1", "TENSORSCOPE_EXIT": "never"}
    if way == "record":
        path = pathlib.Path(folder, "watch.toml")
        path.write_text(WATCH)
        environment.update(TENSORSCOPE_WATCH=str(path), LD_PRELOAD=str(LIBRARY))
    numbers = [arguments.values, arguments.mib * (1 << 20) // 4, IN_QUEUE]
    done = subprocess.run([sys.executable, "-c", SOURCE, way, *map(str, numbers)], env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    begin, first, held = map(float, done.stdout.split())
    files = [path.stat() for path in pathlib.Path(folder).iterdir() if path.suffix != ".toml"]
    if files and files[0].st_size < arguments.values * arguments.mib * (1 << 20):
        raise SystemExit("elements were lost")
    return first, held, max((file.st_mtime for file in files), default=begin + held) - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--values", type=int, default=24)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    best = {}
    for _ in range(arguments.rounds):
        for way in ("memory", "disk", "record"):
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                best[way] = list(map(min, zip(best.get(way, [float("inf")] * 3), run(way, arguments, folder))))
            time.sleep(1)  # the disk is done with what was deleted
    size = arguments.mib * (1 << 20) / 1e9
    sizes = [IN_QUEUE * size, arguments.values * size, arguments.values * size]
    print(f"{arguments.values} values of {arguments.mib} MiB, GB/s   first {IN_QUEUE}      all    file whole")
    for way, seconds in best.items():
        print(f"  {way:8}" + "".join(f"{size / took:20.2f}" for size, took in zip(sizes, seconds)))
    bench_history.keep("of the speed of memory", best["memory"][0] / best["record"][0], "ratio")
    bench_history.keep("of the speed of the disk", best["disk"][2] / best["record"][2], "ratio")
    print(f"recorded: {best['memory'][0] / best['record'][0]:.2f} of the speed of memory while there is room, "
          f"{best['disk'][2] / best['record'][2]:.2f} of that of the disk until the file is whole")


if __name__ == "__main__":
    main()
