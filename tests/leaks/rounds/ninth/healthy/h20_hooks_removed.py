"""Each handle is removed in `finally`; captured has one step's activations; positions() is lru_cache(maxsize=4) over 10 lengths, full after 4 steps."""
# report: "forward hooks for a probe in each step" (the healthy brother of hooks that pile up)
# kind: hooks registered and removed in each step, a cached method with maxsize
# library: nn.Module, functools
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.6, 0.1
# /// healthy
# dumps = "steps"
# ///
import functools
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)


@functools.lru_cache(maxsize=4)
def positions(length):
    return torch.sin(torch.arange(length)[:, None] / (1 + torch.arange(32)))


def probe(x):
    captured = {}
    handles = [m.register_forward_hook(lambda mod, inp, out, n=n: captured.__setitem__(n, out))
               for n, m in model.named_modules() if isinstance(m, nn.Linear)]
    try:
        return model(x), captured
    finally:
        for h in handles:
            h.remove()


for step in range(1, 121):
    length = 100 + 20 * (step % 10)
    out, captured = probe(torch.randn(length, 32) + positions(length))
    loss = out.pow(2).mean() + 1e-3 * sum(c.abs().mean() for c in captured.values())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 5), sorted(captured), flush=True)
