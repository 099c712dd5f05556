"""Gc.disable() and gc.collect() every 8 steps; each step leaves a cycle (trainer state <-> callback) with 32 KiB; at most 8 of them wait."""
# report: "torchtitan-style manual garbage collection: memory is a saw-tooth"
# looks like: growth between two collections (step 20: 4 wait, step 40: 8 wait or 0, step 60: 4)
# library: torch only
# /// healthy
# dumps = "steps"
# ///
import gc
import torch

torch.manual_seed(0)
gc.disable()


class State:
    def __init__(self, step, out):
        self.step = step
        self.out = out
        self.report = lambda: (self.step, self.out.mean().item())


net = torch.nn.Linear(64, 128)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = net(x)
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    state = State(step, out.detach())
    state.report()
    if step % 8 == 0:
        gc.collect()
    opt.step()
print(loss.item())
