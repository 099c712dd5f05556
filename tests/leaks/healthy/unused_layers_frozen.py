"""A frozen backbone, a head that is trained, features without a graph."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

backbone = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).requires_grad_(False).eval()
head = nn.Linear(64, 10)
optimizer = torch.optim.Adam(head.parameters())
for step in range(60):
    features = backbone(torch.randn(32, 64))
    loss = nn.functional.cross_entropy(head(features), torch.randint(10, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
