"""Callbacks of atexit with their arguments, with stdlib atexit."""
# after: "atexit.register in the writer's write(): nothing is released before the process ends" (loggers that register per record)
# fix: register once, for the last record (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "flush"  # atexit's callbacks (arguments `preds`), `atexit.unregister(flush)` frees them
# lines = ["write(step, net(val))"]
# bytes = 40960  # 80 x 128 x 4 = 40 KiB of tensor storages (measured)
# ///
import atexit
import os

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 128))
opt = torch.optim.Adam(net.parameters())
val = torch.randn(80, 16)
written = []


def flush(step, preds):
    written.append((step, preds.mean().item()))


def write(step, preds):
    if os.environ.get("FIX"):
        atexit.unregister(flush)
    atexit.register(flush, step, preds)  # in case that we die before the epoch's end
    if step % 20 == 0:
        flush(step, preds)


for step in range(1, 71):
    x = torch.randn(16, 16)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        write(step, net(val))
