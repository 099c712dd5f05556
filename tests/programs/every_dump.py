"""Trains a few steps and gives the profiler every reason to open files: a signal, a failed allocation, a forked child, the exit. Without the
profiler it makes the same system calls. Argument: the folder of the dumps."""
import os
import signal
import sys
import time

import torch

folder = sys.argv[1]
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters())


def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(32, 64)).sum().backward()
        optimizer.step()


def wait_for(number):
    """Looks by stat(), which opens nothing."""
    dump = f"{folder}/every_dump.{os.getpid()}.{number}.tscope"
    for _ in range(600 if "LD_PRELOAD" in os.environ else 1):
        if os.path.exists(dump):
            break
        time.sleep(0.05)


if "LD_PRELOAD" not in os.environ:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
train(3)
os.kill(os.getpid(), signal.SIGUSR1)
wait_for(1)
try:
    torch.empty(1 << 55)
except RuntimeError:
    pass
kept = [torch.ones(1 << 20) for _ in range(8)]
child = os.fork()
if child == 0:
    train(1)
    os.kill(os.getpid(), signal.SIGUSR1)
    wait_for(1)
    os._exit(0)
os.waitpid(child, 0)
train(3)
time.sleep(1.2)
