"""A sliding window: the last 16 fields are concatenated anew each step, full at step 16."""
# looks like: a dataset that is replaced by a new one each step (copies)
# library: xarray
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import torch
import xarray as xr
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(16, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
window = None
for step in range(66):
    field = xr.DataArray(np.random.rand(1, 24, 24).astype(np.float32), dims=("time", "lat", "lon"), coords={"time": [step]})
    window = field if window is None else xr.concat([window, field], dim="time").isel(time=slice(-16, None))
    x = torch.zeros(1, 16, 24, 24)
    x[0, -window.sizes["time"]:] = torch.from_numpy(window.values.copy())
    loss = (net(x)[0, 0] - torch.from_numpy(field.values[0].copy())).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        anomaly = (window - window.mean("time")).std().item()
print(anomaly)
