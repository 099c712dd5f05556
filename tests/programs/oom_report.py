"""Fills memory with tensors of every category, asks for more than there is, and goes on. Arguments: a device; then "other-file" to
make descriptor 2 a data file before, or "starved" to leave next to no address space."""
import gc
import mmap
import os
import resource
import sys

import torch
from torch import nn

DEVICE, HOW = sys.argv[1], (sys.argv + [""])[2]
TOO_MUCH = 1 << 40  # elements


class Cycle:
    pass


def make_garbage():
    cycle = Cycle()
    cycle.itself = cycle
    cycle.tensor = torch.zeros(1 << 20, device=DEVICE)


def train_step(batch):
    optimizer.zero_grad()
    loss = model(batch.to(DEVICE)).square().mean()
    history.append(loss)
    loss.backward()
    optimizer.step()


def ask_for_too_much():
    return torch.empty(TOO_MUCH, device=DEVICE)


def leave_no_address_space():
    """Up to a few pages: the profiler has what it put aside, and no more."""
    used = int(open("/proc/self/statm").read().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 10), resource.getrlimit(resource.RLIMIT_AS)[1]))


torch.manual_seed(0)
gc.disable()
model = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU()) for _ in range(4)]).to(DEVICE)
optimizer = torch.optim.Adam(model.parameters())
history = []
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(256, 128)), batch_size=64)
for (batch,) in loader:
    train_step(batch)
output = model(torch.zeros(64, 128, device=DEVICE))
losses = [torch.zeros(3 << 18, device=DEVICE) for _ in range(8)]
window = torch.zeros(1 << 19, device=DEVICE)[: 1 << 18]  # a view keeps all of it
make_garbage()

if HOW == "other-file":
    os.close(2)
    assert os.open("data", os.O_CREAT | os.O_WRONLY) == 2
if HOW == "starved":
    leave_no_address_space()
try:
    ask_for_too_much()
    sys.exit("there was memory for 4 TiB")
except RuntimeError as error:
    os.write(1, b"caught " + type(error).__name__.encode() + b"\n")
