# SPDX-License-Identifier: Apache-2.0
"""What a recording of every event costs on top of profiling, and how long it is on disk: blocks with it on and off take turns.

    LD_PRELOAD=build/preload/libtensorscope.so TENSORSCOPE_EXIT=never TENSORSCOPE_DIR=/tmp .venv/bin/python tests/bench/recording_speed.py [LOOP ...]

Prints for each loop the median of the ratios of neighbours, of the time on the clock and of the training thread's processor
time; and the file's bytes for each event.
"""

import glob
import json
import os
import statistics
import subprocess
import sys
import time

import libtensorscope

import bench_history
import loops


def block(step, steps):
    wall, thread = time.perf_counter(), time.thread_time()
    for _ in range(steps):
        step()
    return time.perf_counter() - wall, time.thread_time() - thread


def shown(ratios):
    ratios.sort()
    quarter = len(ratios) // 4
    return f"{statistics.median(ratios):.3f} (quartiles {ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f})"


def measure(name, rounds):
    step, steps = loops.make(name)
    block(step, steps)
    wall, thread = [], []
    for turn in range(rounds):
        took = {}
        for on in (True, False)[:: 1 if turn % 2 else -1]:
            if on:
                libtensorscope.start_recording()
            took[on] = block(step, steps)
            if on:
                libtensorscope.stop_recording()
        wall.append(took[True][0] / took[False][0])
        thread.append(took[True][1] / took[False][1])
    bench_history.keep(f"{name} on the clock", statistics.median(wall), "ratio")
    bench_history.keep(f"{name} processor time", statistics.median(thread), "ratio")
    print(f"{name}: on the clock {shown(wall)}, the training thread's processor time {shown(thread)}", flush=True)


def main():
    for name in sys.argv[1:] or loops.LOOPS:
        measure(name, 20)
    (path,) = glob.glob(os.path.join(os.environ.get("TENSORSCOPE_DIR", "."), f"*.{os.getpid()}.recording"))
    analyzer = os.path.join(os.path.dirname(os.environ["LD_PRELOAD"]), "../analyzer/tensorscope")
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    found = subprocess.run([analyzer, "timeline", path, "--json"], capture_output=True, check=True, env=environment).stdout
    events, nbytes = json.loads(found)["events"], os.path.getsize(path)
    bench_history.keep("bytes an event", nbytes / events, "bytes")
    print(f"{events:,} events in {nbytes:,} bytes: {nbytes / events:.1f} bytes an event")
    os.remove(path)


if __name__ == "__main__":
    main()
