# SPDX-License-Identifier: Apache-2.0
"""Runs one training loop for a number of blocks and prints the seconds a step: the program that peers are timed on."""

import contextlib
import sys
import time

import loops

name, blocks = sys.argv[1], int(sys.argv[2])
profiled = len(sys.argv) > 3 and sys.argv[3] == "torch-profiler"
step, steps = loops.make(name)
for _ in range(steps):
    step()
context = contextlib.nullcontext()
if profiled:
    import torch.profiler
    context = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, with_stack=True)
with context:
    begin = time.perf_counter()
    for _ in range(blocks * steps):
        step()
    took = time.perf_counter() - begin
print(f"seconds-a-step {took / (blocks * steps):.9f}")
