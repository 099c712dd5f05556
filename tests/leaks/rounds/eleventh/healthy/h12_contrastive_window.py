"""GradCache-like training: representations of 12 micro steps wait in a list, then one loss over all and the list is cleared. The size at a dump depends on the place in the window (steps 20, 40, 60 are places 8, 4, 0)."""
# looks like: a list of tensors with graphs that grows within the window
# library: torch only
# /// healthy
# dumps = "asks"
# ///
import torch
import torch.nn as nn
from ask import at

torch.manual_seed(0)
query = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 32))
doc = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 32))
params = [*query.parameters(), *doc.parameters()]
lr, window, losses = 1e-2, [], []
for micro in range(1, 97):
    x = torch.randn(32, 64)
    window.append((query(x), doc(x + 0.3 * torch.randn_like(x))))
    if len(window) == 12:
        q = nn.functional.normalize(torch.cat([a for a, _ in window]), dim=1)
        d = nn.functional.normalize(torch.cat([b for _, b in window]), dim=1)
        loss = nn.functional.cross_entropy(q @ d.T / 0.1, torch.arange(len(q)))
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g in zip(params, grads):
                p -= lr * g
        losses.append(loss.item())
        window.clear()
    at(micro)
print([round(v, 3) for v in losses])
