"""A process that is forked at its busiest moment, and one that has just begun, do the same piece of work and end. Argument: `busy` or
`fresh`; prints the pid of the process that did the piece.

Busy: tensors alive, several threads with events of their own, steps counted and marked, modules called and one that runs, values taken, a NaN
found, memory failed, stacks stopped and started, allocations at a new peak, dumps written and one under way.
"""

import os
import signal
import sys
import threading

import torch
from torch import nn

import libtensorscope

torch.set_num_threads(1)
kept = []


class Net(nn.Module):
    def __init__(self, within=None):
        super().__init__()
        self.body, self.head, self.within = nn.Linear(8, 8), nn.Linear(8, 2), within

    def forward(self, x):
        y = torch.relu(self.body(x))
        if self.within:
            self.within()
        return self.head(y)


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()


def fail(times):
    """Each at the same place: the first one has a dump, the others are counted."""
    for _ in range(times):
        try:
            torch.empty(1 << 55)
        except RuntimeError:
            pass


def make_nan(times):
    for _ in range(times):
        kept.append(torch.zeros(3) / torch.zeros(3))


def grow(mebibytes):
    kept.append(torch.ones(mebibytes << 18))


def stop_and_start(times):
    for _ in range(times):
        libtensorscope.stop()
        kept.append(torch.ones(5))
        libtensorscope.start()


def piece():
    model = Net()
    train(model, 2)
    make_nan(1)
    fail(2)
    stop_and_start(1)
    libtensorscope.save("piece", torch.arange(6.0))
    libtensorscope.dump()
    print(os.getpid(), flush=True)


def child():
    piece()
    sys.exit(0)


def ended(pid):
    assert os.waitpid(pid, 0)[1] == 0


def fork():
    os.kill(os.getpid(), signal.SIGUSR1)
    pid = os.fork()
    if pid == 0:
        child()
    ended(pid)


def busy():
    go = threading.Barrier(4)

    def work():
        """Thread after thread, as their first operations are under a lock of torch's; alive at the fork, and at rest."""
        train(Net(), 1)
        go.wait()
        go.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    go.wait()
    train(Net(), 5)
    libtensorscope.save("parents", torch.arange(9.0))
    grow(200)
    kept.clear()
    grow(40)
    make_nan(4)
    fail(7)
    stop_and_start(3)
    for _ in range(2):
        libtensorscope.dump()
    Net(within=fork)(torch.ones(4, 8))
    go.wait()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    busy() if sys.argv[1] == "busy" else piece()
