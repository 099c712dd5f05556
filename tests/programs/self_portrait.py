"""Prints what it sees of itself at moments of its life, one line of JSON each: when torch is imported, after training, in a
thread, after a dump by signal (where there is one), after a fork in the child, and in its exit functions."""

import atexit
import json
import locale
import os
import resource
import signal
import threading
import time

from portrait import LIBM, descriptors, portrait, wait_until_gone, wait_until_open


def show(moment):
    print(json.dumps([moment, portrait()]), flush=True)


atexit.register(lambda: print(json.dumps(["exit", {"registered": "first"}]), flush=True))
import torch

show("import")
# What a program does to itself, so that a change of it would be seen.
signal.signal(signal.SIGUSR2, lambda number, frame: None)
signal.signal(signal.SIGWINCH, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
os.kill(os.getpid(), signal.SIGHUP)  # stays pending
os.environ["PORTRAIT_SET_LATER"] = "1"
kept = open(os.devnull)
os.umask(0o027)
os.chdir("/")
signal.setitimer(signal.ITIMER_VIRTUAL, 1e6)
locale.setlocale(locale.LC_ALL, "C.UTF-8")
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
LIBM.fesetround(0x800)  # upwards: threads that are made from here on inherit it

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters())
for step in range(5):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
show("trained")
LIBM.feclearexcept(0x3F)  # and nothing that allocates or dumps computes on this thread
allocated = torch.empty(1 << 20)
show("allocated")
thread = threading.Thread(target=lambda: (torch.ones(3).sum().item(), show("thread")), name="worker")
thread.start()
thread.join()
wait_until_gone([thread])


def dumps():
    return [name for name in os.listdir(os.environ["TENSORSCOPE_DIR"]) if name.endswith(".1.tscope")]


if os.environ.get("PORTRAIT_DUMPS"):
    before = descriptors()
    os.kill(os.getpid(), signal.SIGUSR1)
    while not dumps():
        time.sleep(0.01)
    wait_until_open(before)
show("dumped")
pid = os.fork()
if pid == 0:
    torch.ones(3)
    show("child")
    os._exit(0)
print(os.waitpid(pid, 0)[1])
show("forked")
atexit.register(lambda: print(json.dumps(["exit", {"registered": "last"}]), flush=True))
