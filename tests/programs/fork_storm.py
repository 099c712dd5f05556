"""Trains on several threads, interrupts them with SIGUSR1 and forks, all at once. Arguments: seconds, what each child does
(`exit`: nothing; `work`: makes tensors and writes a dump), `handler`: the program has one of its own."""

import os
import random
import signal
import sys
import threading
import time

import torch
from torch import nn

torch.set_num_threads(1)
seconds, child = float(sys.argv[1]), sys.argv[2]
calls = 0
stop = False


def handler(number, frame):
    global calls
    calls += 1


def step(model):
    model(torch.randn(8, 16)).square().mean().backward()
    model.zero_grad()


def train():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    while not stop:
        step(model)


def in_child():
    if child == "work":
        kept = [torch.ones(100) for _ in range(10)]
        import libtensorscope
        assert libtensorscope.dump() is not None and len(kept) == 10
    os._exit(0)


if "handler" in sys.argv:
    signal.signal(signal.SIGUSR1, handler)
# What torch makes at a thread's first operation it makes under a lock of its own, which a child would wait for.
step(nn.Linear(16, 4))
workers = [threading.Thread(target=train) for _ in range(4)]
for worker in workers:
    worker.start()
dice = random.Random(1)
forks = 0
end = time.monotonic() + seconds
while forks < 20 or time.monotonic() < end:
    for worker in workers:
        signal.pthread_kill(worker.ident, signal.SIGUSR1)
    pid = os.fork()
    if pid == 0:
        in_child()
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status
    forks += 1
    time.sleep(dice.uniform(0, 0.01))
stop = True
for worker in workers:
    worker.join()
print("forks", forks >= 20, "calls", calls > 0)
