"""River.utils.Rolling(window_size=10) keeps the last 10 values; the tensors of the last 10 steps in a deque; full at step 10."""
# report: "online statistics of activations keep all samples": a window of 10 does not
# looks like: update() with a new tensor every step
# library: river
# /// healthy
# dumps = "steps"
# ///
from collections import deque
import torch
from river import stats, utils

torch.manual_seed(0)
rolling = utils.Rolling(stats.Mean(), window_size=10)
recent = deque(maxlen=10)
net = torch.nn.Linear(128, 128)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(70):
    x = torch.randn(64, 128)
    out = net(x)
    loss = (out - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    rolling.update(loss.item())
    recent.append(out.detach())
    if step % 10 == 9:
        print(step, rolling.get(), torch.stack(tuple(recent)).std().item())
