"""Trains until the file named by its argument appears; for tests that send signals. Prints its number of steps."""
import os
import sys

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters())
kept = []
steps = 0
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    optimizer.zero_grad()
    model(torch.randn(8, 16)).square().mean().backward()
    optimizer.step()
    steps += 1
    if steps % 10 == 0 and len(kept) < 500:
        kept.append(torch.zeros(16, 16))
print("kept", len(kept), flush=True)
if len(sys.argv) > 2:
    import truth
    truth.moment(sys.argv[2], steps=steps)
