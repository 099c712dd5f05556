"""LoRA: two small matrices beside a frozen layer are trained."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, size=128, rank=4):
        super().__init__()
        self.base = nn.Linear(size, size).requires_grad_(False)
        self.a, self.b = nn.Linear(size, rank, bias=False), nn.Linear(rank, size, bias=False)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


model = nn.Sequential(LoraLinear(), nn.GELU(), LoraLinear())
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
for step in range(60):
    loss = model(torch.randn(16, 128)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
