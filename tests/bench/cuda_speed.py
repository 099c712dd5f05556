# SPDX-License-Identifier: Apache-2.0
"""What tensorscope costs a program on a CUDA device (docs/benchmarks.md), on the double of the CUDA libraries (scripts/fake-cuda)
or on a GPU: run under a Python that has a CUDA build of torch.

    .cache/fake-cuda/bin/python tests/bench/cuda_speed.py dump       from an out-of-memory to its dump, 100,000 live tensors
    .cache/fake-cuda/bin/python tests/bench/cuda_speed.py pairs      a malloc/free pair with stacks; what the library asks of malloc
    .cache/fake-cuda/bin/python tests/bench/cuda_speed.py threads    throughput of 8 threads with the preload against without
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import bench_history

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", ROOT / "build"))
LIBRARY = BUILD / "preload" / "libtensorscope.so"
BLOCK_BYTES = 4096


def compiled(folder):
    """The two small libraries that the measurements need."""
    import torch

    include, libraries = (pathlib.Path(torch.__file__).parent / name for name in ("include", "lib"))
    loop, counter = f"{folder}/loop.so", f"{folder}/counter.so"
    here = pathlib.Path(__file__).parent
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    subprocess.run(["g++", "-std=c++20", "-O2", "-fPIC", "-shared", abi, f"-I{include}", here / "cuda_allocator_loop.cc",
                    f"-L{libraries}", "-lc10", "-o", loop], check=True)
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", here / "malloc_counter.c", "-o", counter], check=True)
    return loop, counter


def run(what, *arguments, preload=True, before=(), folder="."):
    """Runs a target of this file; what it printed on standard output and standard error."""
    environment = dict(os.environ, TENSORSCOPE_EXIT="never", TENSORSCOPE_DIR=str(folder), OMP_NUM_THREADS="1")
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = ":".join([*before, str(LIBRARY)])
    done = subprocess.run([sys.executable, __file__, "--target", what, *map(str, arguments)], env=environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"cuda_speed: {what} ended with status {done.returncode}:\n{done.stderr}")
    return done.stdout, done.stderr


def loaded_loop(path):
    import torch

    torch.empty(1, device="cuda")
    loop = ctypes.CDLL(path).allocator_loop
    loop.restype, loop.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t]
    return loop


def timed(loop, threads, count):
    """(wall time, processor time) of a pair, in nanoseconds: a machine with other work to do disturbs the latter less."""
    before = time.process_time_ns()
    wall = loop(threads, count, BLOCK_BYTES)
    pairs = max(threads, 1) * count
    return wall / pairs, (time.process_time_ns() - before) / pairs


# ---- from failure to the dump -------------------------------------------------------------------------------------


def target_dump(tensors):
    import torch

    kept = [torch.empty(2, 3, device="cuda") for _ in range(int(tensors))]
    try:
        torch.empty(1 << 44, device="cuda")
    except torch.OutOfMemoryError:
        pass
    assert len(kept) == int(tensors)


def dump(arguments):
    phase1, whole = [], []
    for _ in range(arguments.repeat):
        with tempfile.TemporaryDirectory() as folder:
            _, said = run("dump", arguments.tensors, folder=folder)
            path, = pathlib.Path(folder).glob("*.tscope")
            text = subprocess.run([BUILD / "analyzer" / "tensorscope", "info", path], check=True, capture_output=True, text=True).stdout
            value, unit = re.search(r"dump took +([\d.]+) (us|ms|s)\b", text).groups()
            phase1.append(float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit])
            whole.append(float(re.search(r"in (\d+) ms", said)[1]))
    bench_history.keep(f"{arguments.tensors} tensors: to the end of phase 1", statistics.median(phase1), "ms")
    bench_history.keep(f"{arguments.tensors} tensors: to the dump on disk", statistics.median(whole), "ms")
    print(f"{arguments.tensors} live tensors; from the failure to the end of phase 1: median {statistics.median(phase1):.0f} ms, "
          f"least {min(phase1):.0f}; to the dump on disk with names and graph: median {statistics.median(whole):.0f} ms, "
          f"least {min(whole):.0f}")


# ---- a malloc/free pair ---------------------------------------------------------------------------------------------


def deep(depth, function):
    """Calls it from a Python stack of some depth."""
    return function() if depth == 0 else deep(depth - 1, function)


def target_pairs(loop_path, count):
    import overhead

    loop, count, word = loaded_loop(loop_path), int(count), overhead.state_word()
    counter = ctypes.CDLL(None)

    def block(state):
        word.value = state
        return deep(10, lambda: timed(loop, 0, count))[1]

    for state in (overhead.RECORDING, overhead.OFF) * 2:
        block(state)
    word.value = overhead.RECORDING
    deep(10, lambda: loop(0, count, BLOCK_BYTES))
    started = counter.malloc_counter_start()
    deep(10, lambda: loop(0, count, BLOCK_BYTES))
    calls = counter.malloc_counter_calls()
    rows = [(block(overhead.OFF), block(overhead.RECORDING)) for _ in range(20)]
    print(json.dumps({"rows": rows, "calls": calls if started else None}))


def pairs(arguments):
    with tempfile.TemporaryDirectory() as folder:
        loop, counter = compiled(folder)
        result = json.loads(run("pairs", loop, arguments.count, before=[counter], folder=folder)[0])
    added = sorted(on - off for off, on in result["rows"])
    off = statistics.median(off for off, _ in result["rows"])
    bench_history.keep("a malloc/free pair: added", statistics.median(added), "ns")
    print(f"a malloc/free pair, processor time: {off:.0f} ns with recording off, {statistics.median(added):.0f} ns more with both stacks "
          f"(quartiles {added[len(added) // 4]:.0f} to {added[-1 - len(added) // 4]:.0f}); "
          f"calls of malloc and mmap by the library in {arguments.count} pairs: {result['calls']}")


# ---- eight threads --------------------------------------------------------------------------------------------------


def target_threads(loop_path, threads, count, blocks):
    loop, threads, count = loaded_loop(loop_path), int(threads), int(count)
    timed(loop, threads, count)
    rows = [timed(loop, threads, count) for _ in range(int(blocks))]
    print(json.dumps([statistics.median(column) for column in zip(*rows)]))


def target_switched(loop_path, threads, count, blocks):
    """The same with recording switched on and off inside one process: tables and stacks, without the hooks themselves."""
    import overhead

    loop, word = loaded_loop(loop_path), overhead.state_word()
    threads, count = int(threads), int(count)
    rows = []
    for pair in range(int(blocks)):
        took = {}
        for state in ((overhead.RECORDING, overhead.OFF), (overhead.OFF, overhead.RECORDING))[pair % 2]:
            word.value = state
            took[state] = timed(loop, threads, count)
        rows.append([off / on for off, on in zip(took[overhead.OFF], took[overhead.RECORDING])])
    word.value = overhead.RECORDING
    print(json.dumps(list(zip(*rows[1:]))))


def spread(ratios):
    ratios = sorted(ratios)
    return f"{statistics.median(ratios):.3f} (quartiles {ratios[len(ratios) // 4]:.3f} to {ratios[-1 - len(ratios) // 4]:.3f})"


def threads(arguments):
    ratios, walls = [], []
    with tempfile.TemporaryDirectory() as folder:
        loop, _ = compiled(folder)
        for pair in range(arguments.repeat):
            took = {}
            for preload in ((True, False), (False, True))[pair % 2]:
                took[preload] = json.loads(run("threads", loop, arguments.threads, arguments.count, 5, preload=preload, folder=folder)[0])
            ratios.append([without / with_it for without, with_it in zip(took[False], took[True])])
            walls.append([took[False][0], took[True][0]])
        switched = json.loads(run("switched", loop, arguments.threads, arguments.count, 30, folder=folder)[0])
    without, with_it = (statistics.median(column) for column in zip(*walls))
    bench_history.keep(f"{arguments.threads} threads, a malloc/free pair", with_it / without, "ratio")
    print(f"{arguments.threads} threads, a malloc/free pair: {without:.0f} ns without the preload, {with_it:.0f} ns with")
    for what, column, pairs in zip(("by wall time", "by processor time"), zip(*ratios), switched):
        print(f"  throughput {what}: with the preload against without {spread(column)}; "
              f"recording on against off in one process {spread(pairs)}")


def main():
    if sys.argv[1:2] == ["--target"]:
        return globals()["target_" + sys.argv[2]](*sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["dump", "pairs", "threads"])
    parser.add_argument("--tensors", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--count", type=int, default=100_000, help="pairs a thread and block")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    globals()[arguments.what](arguments)


if __name__ == "__main__":
    main()
