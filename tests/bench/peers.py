# SPDX-License-Identifier: Apache-2.0
"""tensorscope beside its peers on the same loop, as ratios to the bare program, interleaved in one run.

    .venv/bin/python tests/bench/peers.py [LOOP]        # needs heaptrack (apt) and memray (pip); what is absent is left out

Each round runs every tool once, so that a drift of the machine's speed hits all alike; the figure is the median over rounds.
"""

import importlib.util
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import bench_history

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parents[1] / "build" / "preload" / "libtensorscope.so"
BLOCKS = {"tiny": 5, "transformer-small": 15, "transformer-large": 3}  # in each process


def tools(folder, loop, blocks):
    program = [sys.executable, str(HERE / "run_loop.py"), loop, str(blocks)]
    preload = {"LD_PRELOAD": str(LIBRARY), "TENSORSCOPE_DIR": folder, "TENSORSCOPE_QUIET": "1"}
    found = {
        "bare": (program, {}),
        "tensorscope": (program, preload),
        "tensorscope, native stacks from 64K": (program, preload | {"TENSORSCOPE_NATIVE": "64K"}),
        "tensorscope, Python stacks only": (program, preload | {"TENSORSCOPE_NATIVE": "0"}),
        "torch.profiler, memory and stacks": (program + ["torch-profiler"], {}),
    }
    if importlib.util.find_spec("memray"):
        record = [sys.executable, "-m", "memray", "run", "-q", "-f"]
        found["memray"] = (record + ["-o", f"{folder}/a.bin", *program[1:]], {})
        found["memray, native stacks"] = (record + ["--native", "-o", f"{folder}/b.bin", *program[1:]], {})
    if shutil.which("heaptrack"):
        found["heaptrack"] = (["heaptrack", "-o", f"{folder}/heap", *program], {})
    return found


def seconds(command, extra):
    done = subprocess.run(command, env=os.environ | extra, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("seconds-a-step"):
            return float(line.split()[1])
    raise RuntimeError(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")


def main():
    loop = sys.argv[1] if len(sys.argv) > 1 else "tiny"
    blocks, rounds = BLOCKS[loop], 7
    with tempfile.TemporaryDirectory() as folder:
        chosen = tools(folder, loop, blocks)
        took = {name: [] for name in chosen}
        for _ in range(rounds):
            for name, (command, extra) in list(chosen.items()):
                try:
                    took[name].append(seconds(command, extra))
                except RuntimeError as error:  # a peer that does not run here is left out
                    del chosen[name]
                    print(f"{loop:18} {name:36} does not run here: {error}")
        for name in chosen:
            values = took[name]
            ratio = statistics.median(value / bare for value, bare in zip(values, took["bare"]))
            bench_history.keep(f"{loop} {name}", ratio, "times bare")
            print(f"{loop:18} {name:36} {statistics.median(values) * 1e3:8.3f} ms a step   {ratio:5.2f} times bare")


if __name__ == "__main__":
    main()
