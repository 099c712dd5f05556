"""Predictions of an epoch of 16 steps are collected and cleared at its end; dumps at 20, 40, 60 are 4, 8, 12 steps into an epoch."""
# looks like: a list of 4, 8, 12 tensors at the three dumps: growth, if one looks at sizes alone; nothing in it is older than the epoch
# library: scipy (spearmanr at the end of an epoch)
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import torch
from scipy.stats import spearmanr
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
preds, targets, history = [], [], []
for step in range(66):
    x = torch.randn(256, 32)
    y = x.roll(1, 1)
    out = net(x)
    loss = (out - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    preds.append(out.detach())
    targets.append(y)
    if step % 16 == 15:
        rho = spearmanr(torch.cat(preds).flatten().numpy()[:5000], torch.cat(targets).flatten().numpy()[:5000])[0]
        history.append(float(rho))
        preds.clear()
        targets.clear()
print(np.round(history, 3))
