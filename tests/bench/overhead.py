# SPDX-License-Identifier: Apache-2.0
"""What recording costs a training loop: alternating blocks with recording on and off inside one process.

    LD_PRELOAD=build/preload/libtensorscope.so TENSORSCOPE_EXIT=never .venv/bin/python tests/bench/overhead.py [--stopped] [LOOP ...]

With --stopped: what libtensorscope.stop() leaves of it, in blocks of recording, stopped and off. Off means that the hooks only forward. The
switch is the library's own state word, found in its symbol table: no product interface can do this, since a table that misses events would be
wrong. Prints the median of the pairwise ratios.
"""

import ctypes
import statistics
import subprocess
import sys
import time

import bench_history
import loops

RECORDING, OFF = 2, 3  # preload/support/state.h
PAIRS = {"tiny": 40, "transformer-small": 80, "transformer-large": 16}


def state_word():
    """The byte `tensorscope::g_state` in the loaded library, or None without the preload."""
    for line in open("/proc/self/maps"):
        fields = line.split()
        if fields[-1].endswith("libtensorscope.so") and fields[2] == "00000000":
            base, path = int(fields[0].split("-")[0], 16), fields[-1]
            break
    else:
        return None
    for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
        if line.endswith(" _ZN11tensorscope7g_stateE"):
            return ctypes.c_uint8.from_address(base + int(line.split()[0], 16))
    raise SystemExit("overhead: the library has no symbol table (stripped?)")


def block(step, steps):
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - begin


def shown(what, ratios):
    ratios.sort()
    quarter = len(ratios) // 4
    return f"{what} {statistics.median(ratios):.3f} (quartiles {ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f})"


def measure_stopped(name, word, rounds):
    import libtensorscope

    step, steps = loops.make(name)
    block(step, steps)
    block(step, steps)
    recording, stopped = [], []
    for turn in range(rounds):
        took = {}
        for what in ("recording", "stopped", "off")[:: 1 if turn % 2 else -1]:
            word.value = OFF if what == "off" else RECORDING
            if what == "stopped":
                libtensorscope.stop()
            took[what] = block(step, steps)
            if what == "stopped":
                libtensorscope.start()
        word.value = RECORDING
        recording.append(took["recording"] / took["off"])
        stopped.append(took["stopped"] / took["off"])
    bench_history.keep(f"{name} recording/off", statistics.median(recording), "ratio")
    bench_history.keep(f"{name} stopped/off", statistics.median(stopped), "ratio")
    print(f"{name:18} {shown('recording/off', recording)}   {shown('stopped/off', stopped)}   ({rounds} rounds of {steps} steps)",
          flush=True)


def measure(name, word, pairs):
    step, steps = loops.make(name)
    block(step, steps)
    block(step, steps)
    ratios, plain = [], []
    for pair in range(pairs):
        order = (RECORDING, OFF) if pair % 2 else (OFF, RECORDING)
        took = {}
        for state in order:
            word.value = state
            took[state] = block(step, steps)
        ratios.append(took[RECORDING] / took[OFF])
        plain.append(took[OFF] / steps)
    word.value = RECORDING
    bench_history.keep(f"{name} on/off", statistics.median(ratios), "ratio")
    bench_history.keep(f"{name} a step", statistics.median(plain) * 1e3, "ms")
    print(f"{name:18} {statistics.median(plain) * 1e3:8.3f} ms a step   {shown('on/off', ratios)}   ({pairs} pairs of {steps} steps)",
          flush=True)


def main():
    word = state_word()
    if word is None or word.value != RECORDING:
        raise SystemExit(f"overhead: run this under LD_PRELOAD=.../libtensorscope.so (state {word})")
    names = [name for name in sys.argv[1:] if name != "--stopped"]
    for name in names or loops.LOOPS:
        (measure_stopped if "--stopped" in sys.argv else measure)(name, word, PAIRS[name])


if __name__ == "__main__":
    main()
