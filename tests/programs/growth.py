"""Grows in five steps, each to a new peak, and is killed; waits for the dump of each step, which also tells when older
ones are deleted. With an argument it puts a file of its own in the place of the first."""

import os
import pathlib
import signal
import sys
import time

import torch

STEP = 40 << 20
KEEP = int(os.environ.get("TENSORSCOPE_GROWTH_KEEP", "3"))
folder = pathlib.Path(os.environ["TENSORSCOPE_DIR"])
mine = "mine" in sys.argv


def dump(number):
    return folder / f"growth.{os.getpid()}.growth-{number}.tscope"


def wait_until(condition):
    while not condition():
        time.sleep(0.01)


kept = []
for step in range(1, 6):
    kept.append(torch.ones(STEP, dtype=torch.uint8))
    kept.append(torch.empty(4))
    wait_until(dump(step).exists)
    if step == 1 and mine:
        dump(1).unlink()
        dump(1).write_text("precious")
    for _ in range(3):  # nothing new
        torch.empty(STEP // 2, dtype=torch.uint8)
    oldest = step - KEEP
    if KEEP and oldest >= 1 and not (oldest == 1 and mine):
        wait_until(lambda: not dump(oldest).exists())
print("grown", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
