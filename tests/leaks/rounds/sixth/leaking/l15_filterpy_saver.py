"""Numpy arrays in lists inside a library, with filterpy (common.Saver)."""
# after: filterpy "Saver uses a lot of memory": it keeps a copy of every attribute of the filter for each update
# fix: no saver.save(); keep kf.x.copy() of what is plotted
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "saver"  # saver (its _DL[*] lists, which are its attributes x, P, ... too)
# lines = []
# bytes = 72398  # by malloc (numpy arrays); correction: 71,984 by nbytes and 112 of each array
# ///
import os
import numpy as np
import torch
from filterpy.common import Saver
from filterpy.kalman import KalmanFilter
from torch import nn

torch.manual_seed(0)
kf = KalmanFilter(dim_x=32, dim_z=16)
kf.F = np.eye(32) + 0.01 * np.eye(32, k=16)
kf.H = np.eye(16, 32)
kf.P *= 10.0
saver = Saver(kf)
sensor = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(sensor.parameters(), lr=1e-3)
for step in range(64):
    raw = torch.randn(32, 48)
    z = sensor(raw)
    kf.predict()
    kf.update(z.mean(0).detach().numpy().reshape(-1, 1).astype(np.float64))
    if not os.environ.get("FIX"):
        saver.save()
    loss = (z.mean(0) - torch.from_numpy(kf.x[:16, 0]).float()).pow(2).mean() + z.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
