"""Log of a dispatch mode, with torch.utils._python_dispatch."""
# after: "TorchDispatchMode logger for numerics: memory of each op's output stays" (debug modes that keep (func, out))
# fix: store out.abs().max().item() (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "mode.trace"  # `mode.trace` (list of (name, output))
# lines = ["y = net(torch.randn(100, 64))"]
# bytes = 64000  # 100 x (128 + 32) x 4 = 62.5 KiB of tensor storages (measured); 64.5 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn
from torch.utils._python_dispatch import TorchDispatchMode

from ask import at


class Numerics(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.trace = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.addmm.default:
            self.trace.append((str(func), out.abs().max().item() if os.environ.get("FIX") else out))
        return out


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 32)).eval()
mode = Numerics()
with torch.no_grad():
    for i in range(1, 71):
        with mode:
            y = net(torch.randn(100, 64))
        at(i)
print(len(mode.trace), y.mean().item())
