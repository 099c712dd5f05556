"""Chain of closures, each with a tensor of its own, with plain Python."""
# after: "transform gets slower every step": the augmentation is wrapped again and again in the loop
# fix: wrap the base transform (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "transform"  # `transform` (chain of closures: `inner`, and cell `noise`)
# lines = ["noise = torch.randn(32, 256)"]
# bytes = 32768  # 32 x 256 x 4 = 32 KiB of tensor storages (measured)
# ///
import os

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(256, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.05)


def base(x):
    return x / 2


def with_noise(inner, noise):
    def call(x):
        return inner(x) + noise * 1e-3

    return call


transform = base
for step in range(1, 71):
    noise = torch.randn(32, 256)
    transform = with_noise(base if os.environ.get("FIX") else transform, noise)
    x, y = torch.randn(32, 256), torch.randint(0, 4, (32,))
    loss = nn.functional.cross_entropy(net(transform(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
