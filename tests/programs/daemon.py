"""Closes all descriptors as a daemon does, opens files of its own and trains in threads: its files must stay its own."""
import os
import signal
import sys
import threading
import time

import torch
from torch import nn

FILES, THREADS, DUMPS = 8, 4, 3


def train(steps):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(32, 8)).square().mean().backward()
        optimizer.step()


def described(number):
    status = os.fstat(number)
    return status.st_dev, status.st_ino, os.lseek(number, 0, os.SEEK_CUR)


def wait_for_dump(count):
    """The signal's dump. Without the profiler nobody writes one."""
    folder = os.environ["TRUTH_DIR"]
    while len([name for name in os.listdir(folder) if name.endswith(".tscope")]) < count:
        time.sleep(0.01)


kept = torch.ones(64)  # in every dump, however soon or late it comes
train(2)
os.closerange(3, 512)
own = [os.open(f"own-{i}.bin", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for i in range(FILES)]
for number in own:
    os.write(number, b"mine")
    os.lseek(number, 2, os.SEEK_SET)
before = [described(number) for number in own]

for i in range(DUMPS):
    threads = [threading.Thread(target=train, args=(20,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    if "LD_PRELOAD" in os.environ:
        os.kill(os.getpid(), signal.SIGUSR1)
        wait_for_dump(i + 1)
    for thread in threads:
        thread.join()
    try:
        torch.empty(1 << 50)
    except RuntimeError:
        pass

try:
    assert [described(number) for number in own] == before, "the files are others"
except OSError as error:
    sys.exit(f"a file is gone: {error}")
for number in own:
    assert os.pread(number, 16, 0) == b"mine", "the content is another's"
    os.write(number, b" all mine")
print("own:", own)
