"""Grows on the devices of CUDA and on the CPU by turns; waits for the dump of each peak of all of them together."""

import os
import pathlib
import time

import torch

folder = pathlib.Path(os.environ["TENSORSCOPE_DIR"])
kept = []
for number, device in enumerate(["cuda:0", "cpu", "cuda:1", "cuda:0"], start=1):
    kept.append(torch.empty(40 << 20, dtype=torch.uint8, device=device))
    kept.append(torch.empty(4 << 20, dtype=torch.uint8, device=device))
    dump = folder / f"cuda_growth.{os.getpid()}.growth-{number}.tscope"
    while not dump.exists():
        time.sleep(0.01)
    # What goes on one device and comes on another is no peak.
    for other in ("cpu", "cuda:0"):
        torch.empty(8 << 20, dtype=torch.uint8, device=other)
