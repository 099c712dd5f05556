"""A hook that masks the gradient of a weight by the activations of a step, and is removed at the end of it."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

layer = nn.Linear(64, 128)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)


def mask_gradient(weight, mask):
    return weight.register_hook(lambda gradient: gradient * mask)


for step in range(60):
    hidden = layer(torch.randn(32, 64))
    mask = (torch.rand(128, 64) > 0.1).float()
    handle = mask_gradient(layer.weight, mask)
    loss = hidden.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    handle.remove()
