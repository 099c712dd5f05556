"""A training loop: parameters, gradients, optimizer state and the last step's activations are alive at the moment."""
import torch
from torch import nn

import truth

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Dropout(0.5), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters())
for step in range(5):
    optimizer.zero_grad()
    output = model(torch.randn(32, 8))
    loss = output.square().mean()
    loss.backward()
    optimizer.step()
loss = model(torch.randn(32, 8)).square().mean()
print(f"{loss.item():.6f}")
truth.moment()
