"""Subgraphs are sampled anew for each batch."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

features, edges = torch.randn(2000, 32), torch.randint(2000, (2000, 10))
model = nn.Linear(64, 4)
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    seeds = torch.randint(2000, (64,))
    neighbours = features[edges[seeds]].mean(1)
    loss = model(torch.cat([features[seeds], neighbours], 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
