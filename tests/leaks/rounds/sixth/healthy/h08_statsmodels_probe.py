"""Every 5 steps a linear probe is fitted on 2000 features: large for a moment; only R^2 and the last result are kept."""
# looks like: a spike of several MiB at steps 5, 10, ..., also at the dumps
# library: statsmodels
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import statsmodels.api as sm
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
scores, last = [], None
for step in range(64):
    x = torch.randn(128, 32)
    loss = (net(x)[:, 0] - x.sum(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        with torch.no_grad():
            probe = torch.randn(2000, 32)
            feats = net[1](net[0](probe)).double().numpy()
        last = sm.OLS(probe.sum(1).double().numpy(), sm.add_constant(feats, has_constant="add")).fit()
        scores.append(last.rsquared)
print(np.round(scores, 3))
