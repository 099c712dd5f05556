"""Many small tensors of the generators' states in a list of a sampler object, with torch.get_rng_state."""
# after: "exact resume: I save the RNG state per batch so that I can replay any of them" (reproducibility threads)
# fix: keep the state at the epoch's start only (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "replay.states"  # `replay.states` (list of (state of the global generator, state of the data generator))
# lines = ["self.states.append((torch.get_rng_state(), self.gen.get_stat"]
# bytes = 10112  # 2 x 5056 = 10,112 bytes (9.9 KiB) of tensor storages (measured); 11.2 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn


class Replay:
    def __init__(self, gen):
        self.gen, self.states = gen, []

    def mark(self):
        if os.environ.get("FIX"):
            self.states.clear()
        self.states.append((torch.get_rng_state(), self.gen.get_state()))


torch.manual_seed(0)
gen = torch.Generator().manual_seed(1)
net = nn.Sequential(nn.Linear(10, 30), nn.Dropout(0.2), nn.ReLU(), nn.Linear(30, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
replay = Replay(gen)
data = torch.randn(1000, 10)
for step in range(1, 71):
    replay.mark()
    x = data[torch.randint(0, 1000, (32,), generator=gen)]
    loss = (net(x)[:, 0] - x[:, 0]).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(replay.states), loss.item())
