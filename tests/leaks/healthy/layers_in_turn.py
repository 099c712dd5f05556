"""The blocks of a model are trained in turn, two steps each; the optimizer's state of each is made at its first step."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

model = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.Tanh()) for _ in range(6)])
optimizer = torch.optim.AdamW(model.parameters())
for step in range(60):
    for number, block in enumerate(model):
        block.requires_grad_(number == step // 2 % 6)
    loss = model(torch.randn(32, 128)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
