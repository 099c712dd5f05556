"""One pair, replaced when better; created in ever later steps. A window of the last 8 losses as floats."""
# report: "best reconstructions are kept" (SSIM loss, best image so far and its input)
# library: pytorch-msssim
# /// healthy
# dumps = "steps"
# ///
from collections import deque

import torch
import torch.nn as nn
from pytorch_msssim import SSIM

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 3, 3, padding=1), nn.Sigmoid())
ssim = SSIM(data_range=1.0, size_average=True, channel=3)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
best, recent = None, deque(maxlen=8)
for step in range(1, 71):
    x = torch.rand(4, 3, 48, 48)
    y = net(x + 0.1 * torch.randn_like(x))
    loss = 1 - ssim(y, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(loss.item())
    if best is None or loss.item() < best[0]:
        best = (loss.item(), x.clone(), y.detach().clone())
print(best[0], sum(recent) / 8)
