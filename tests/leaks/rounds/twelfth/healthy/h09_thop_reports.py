"""Thop removes its hooks and buffers at the end; the last 5 reports (numbers) are kept."""
# report: "profile() adds buffers total_ops/total_params to my model each time" (thop)
# library: thop
# /// healthy
# dumps = "steps"
# ///
from collections import deque

import torch
import torch.nn as nn
from thop import profile

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 12, 3), nn.ReLU(), nn.Conv2d(12, 12, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
reports = deque(maxlen=5)
for step in range(1, 71):
    x = torch.randn(8, 3, 32 + step % 5, 32)
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 4, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 0:
        macs, params = profile(net, inputs=(x[:1],), verbose=False)
        net.train()
        reports.append((step, x.shape, macs))
print(reports[-1])
