"""List of objects of a library that cache tensors, with torchsde (BrownianInterval)."""
# after: torchsde issue "BrownianInterval memory": one kept for each trajectory to replay its noise
# fix: keep the entropy (seed) instead: replays.append(step)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "replays"  # replays[*] (the BrownianIntervals; their caches of increments)
# lines = ["bm = torchsde.BrownianInterval(0.0, 1.0, size=(32, 16), entr", "ys = torchsde.sdeint(sde, y0, ts, bm=bm, dt=0.1, method=\"eul"]
# bytes = 20480  # storages: 10 of 32*16*4; gc count; malloc in all 29891 with the tree's Python objects
# ///
import os
import torch
import torchsde
from torch import nn

torch.manual_seed(0)


class SDE(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16))
        self.sigma = nn.Parameter(torch.full((16,), 0.1))

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return self.sigma.expand_as(y)


sde = SDE()
opt = torch.optim.Adam(sde.parameters(), lr=1e-3)
ts = torch.linspace(0, 1, 3)
replays = []
for step in range(64):
    y0 = torch.randn(32, 16)
    bm = torchsde.BrownianInterval(0.0, 1.0, size=(32, 16), entropy=step, cache_size=8)
    ys = torchsde.sdeint(sde, y0, ts, bm=bm, dt=0.1, method="euler")
    loss = ys[-1].pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    replays.append(step if os.environ.get("FIX") else bm)
print(len(replays), float(loss))
