"""The list is summed and cleared at each sixth step. `at(i)` counts micro-batches: at 20, 40, 60 there are 2, 4, 0 of 6 graphs alive: it goes up from 20 to 40 and down to 60."""
# report: "losses of micro-batches pile up with their graphs" (one backward for 6 micro-batches)
# library: torch
# /// healthy
# dumps = "asks"
# ///
import torch
import torch.nn as nn

from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
pending = []
for i in range(1, 73):
    x = torch.randn(64, 64)
    pending.append((net(x) - x).pow(2).mean())
    if len(pending) == 6:
        grads = torch.autograd.grad(torch.stack(pending).mean(), list(net.parameters()))
        with torch.no_grad():
            for p, g in zip(net.parameters(), grads):
                p -= 0.01 * g
        last = pending[-1].item()
        pending.clear()
    at(i)
print(last)
