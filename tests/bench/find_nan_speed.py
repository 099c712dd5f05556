# SPDX-License-Identifier: Apache-2.0
"""What --find-nan costs a training loop: steps with and without its callback take turns inside one process.

    LD_PRELOAD=build/preload/libtensorscope.so TENSORSCOPE_EXIT=never TENSORSCOPE_FIND_NAN=1 \
        .venv/bin/python tests/bench/find_nan_speed.py [LOOP ...]

The callback is switched off by torch's own switch (at::enableRecordFunction, of this thread and of the backward passes that it
begins), so the ratio has all that is paid for it: also what torch pays for calling it with arguments and results.
"""

import ctypes
import os
import pathlib
import statistics
import sys
import time

import bench_history
import loops
import torch

PAIRS = 24


def switch():
    library = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    function = library._ZN2at20enableRecordFunctionEb
    function.argtypes = [ctypes.c_bool]
    return function


def measure(name, enable):
    step, steps = loops.make(name)
    steps = max(1, steps // 8)
    ratios, plain = [], []
    for pair in range(PAIRS + 2):
        took = {}
        for on in (True, False) if pair % 2 else (False, True):
            enable(on)
            begin = time.perf_counter()
            for _ in range(steps):
                step()
            took[on] = (time.perf_counter() - begin) / steps
        if pair >= 2:  # the first ones warm up
            ratios.append(took[True] / took[False])
            plain.append(took[False])
    ratios.sort()
    bench_history.keep(f"{name} with/without", statistics.median(ratios), "ratio")
    print(f"{name:18} {statistics.median(plain) * 1e3:8.3f} ms a step   with/without {statistics.median(ratios):.3f}"
          f"   (quartiles {ratios[PAIRS // 4]:.3f} to {ratios[-1 - PAIRS // 4]:.3f}, {PAIRS} pairs of {steps} steps)", flush=True)


def main():
    if not os.environ.get("TENSORSCOPE_FIND_NAN") or "libtensorscope" not in pathlib.Path("/proc/self/maps").read_text():
        raise SystemExit("find_nan_speed: run this under LD_PRELOAD=.../libtensorscope.so with TENSORSCOPE_FIND_NAN=1")
    enable = switch()
    for name in sys.argv[1:] or ("tiny", "transformer-small", "transformer-large"):
        measure(name, enable)


if __name__ == "__main__":
    main()
