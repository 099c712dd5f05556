"""Each sequence has its own tracker, and tracker and filter refer to each other: garbage in cycles, freed by the garbage collector now and then."""
# looks like: memory that rises for many steps and falls at a collection (gen 2 is late); a tracker object has 60 KiB
# library: filterpy
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import torch
from filterpy.kalman import KalmanFilter
from torch import nn


class Track:
    def __init__(self):
        self.kf = KalmanFilter(dim_x=8, dim_z=4)
        self.kf.H = np.eye(4, 8)
        self.kf.track = self  # back reference
        self.memory = torch.zeros(16, 64)


torch.manual_seed(0)
cell, head = nn.GRUCell(4, 64), nn.Linear(64, 4)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
for step in range(64):
    tracks = [Track() for _ in range(6)]
    loss = 0.0
    for t in range(4):
        for track in tracks:
            z = torch.randn(16, 4)
            h = cell(z, track.memory)
            pred = head(h)
            track.memory = h.detach()
            track.kf.predict()
            track.kf.update(pred.detach().mean(0).double().numpy().reshape(4, 1))
            loss = loss + (pred - z).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
