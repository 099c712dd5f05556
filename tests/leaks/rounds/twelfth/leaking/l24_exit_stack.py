"""Stack of cleanup callbacks, with contextlib.ExitStack."""
# after: "ExitStack opened once around the loop collects a callback per batch" (cleanup callbacks hold the batch until the end)
# fix: a `with ExitStack()` inside of the loop (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "stack._exit_callbacks"  # `stack._exit_callbacks` (callback arguments: staging)
# lines = ["staging = torch.empty(8, 3, 40, 40)"]
# bytes = 153600  # 8 x 3 x 40 x 40 x 4 = 150 KiB of tensor storages (measured)
# ///
import os
from contextlib import ExitStack

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Conv2d(3, 6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
released = []


def release(staging):
    released.append(staging.shape[0])


def train_step(stack):
    staging = torch.empty(8, 3, 40, 40)
    staging.normal_()
    stack.callback(release, staging)
    loss = net(staging).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


with ExitStack() as stack:
    for step in range(1, 71):
        if os.environ.get("FIX"):
            with ExitStack() as inner:
                train_step(inner)
        else:
            train_step(stack)
print(len(released))
