"""A process that is forked at its busiest moment, and one that has just begun, do the same piece of work and end. Argument: `busy` or
`fresh`; prints the pid of each process that it is.

Busy: tensors alive, threads that were counted, steps, modules called and one that runs, values taken, NaNs found, memory failed, stacks
stopped and started, a new peak of live bytes, dumps written and one under way. A last child is forked while its parent's recording is off.
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
    """At one place: the first one has a dump, the others are counted."""
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
    torch.manual_seed(1)
    model = Net()
    train(model, 2)
    make_nan(1)
    fail(2)
    stop_and_start(1)
    libtensorscope.save("piece", torch.arange(6.0))
    libtensorscope.dump()


def fork(work):
    pid = os.fork()
    if pid == 0:
        work()
        sys.exit(0)
    print(pid, flush=True)
    assert os.waitpid(pid, 0)[1] == 0


def fork_in_a_dump():
    os.kill(os.getpid(), signal.SIGUSR1)
    fork(piece)


def busy():
    go = threading.Barrier(4)

    def work():
        """At rest at the fork: in the middle of an operation it may hold a lock of torch's, which the child would wait for."""
        train(Net(), 1)
        go.wait()
        go.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    go.wait()
    model = Net()
    train(model, 5)
    libtensorscope.save("parents", torch.arange(9.0))
    grow(200)
    kept.clear()
    grow(40)
    make_nan(4)
    fail(7)
    stop_and_start(3)
    for _ in range(2):
        libtensorscope.dump()
    Net(within=fork_in_a_dump)(torch.ones(4, 8))
    go.wait()
    for thread in threads:
        thread.join()
    libtensorscope.stop_recording()
    fork(lambda: None)
    libtensorscope.start_recording()


if __name__ == "__main__":
    print(os.getpid(), flush=True)
    libtensorscope.start_recording()
    busy() if sys.argv[1] == "busy" else piece()
