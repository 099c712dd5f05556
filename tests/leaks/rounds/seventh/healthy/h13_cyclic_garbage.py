"""Only Python's cyclic garbage collector frees them (some 52 objects in a cycle per step; threshold 700). Goes up and down between 0 and about 20 x 25 KiB (counted: 4 to 20 contexts alive, one gen0 collection every 13 steps)."""
# report: "memory saw tooth, objects with cycles": each step makes a small context object that refers to itself and holds activations; the collector frees it late
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn


class Context:
    """A forward pass with its callbacks, as trainers have it."""

    def __init__(self, net, x):
        self.net = net
        self.out = net(x)
        self.parts = [Part(self, i) for i in range(50)]

    def loss(self):
        return sum(part.loss() for part in self.parts) / len(self.parts)


class Part:
    def __init__(self, owner, i):
        self.owner, self.i = owner, i

    def loss(self):
        return self.owner.out[self.i::50].pow(2).mean()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(70):
    context = Context(net, torch.randn(100, 16))
    loss = context.loss()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
