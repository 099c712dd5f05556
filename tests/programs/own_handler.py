"""The program's own SIGUSR1 handler, in Python; argument: `before` or `after` torch is imported."""
import os
import signal
import sys
import time

calls = []


def handler(number, frame):
    calls.append(number)


if sys.argv[1] == "before":
    signal.signal(signal.SIGUSR1, handler)
import torch

kept = torch.ones(10)
if sys.argv[1] == "after":
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
    signal.signal(signal.SIGUSR1, handler)
assert signal.getsignal(signal.SIGUSR1) is handler
for number in range(3):
    os.kill(os.getpid(), signal.SIGUSR1)
    while len(calls) <= number:
        time.sleep(0.001)
print("calls", len(calls))
