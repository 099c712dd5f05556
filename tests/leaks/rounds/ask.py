"""Has the profiler write a dump at the steps 20, 40 and 60, for programs whose steps nothing else tells.

They import this module, and ../corpus.py has it found. Without the profiler nothing happens.
"""
import glob
import os
import signal
import time


def at(step):
    if step not in (20, 40, 60) or "libtensorscope" not in os.environ.get("LD_PRELOAD", ""):
        return
    pattern = os.path.join(os.environ["TENSORSCOPE_DIR"], "*.tscope")
    before = set(glob.glob(pattern))
    os.kill(os.getpid(), signal.SIGUSR1)
    while set(glob.glob(pattern)) == before:  # whoever runs the program limits its time
        time.sleep(0.02)
