"""In each step the weight gets one more hook, which masks its gradient by the activations of that step; none is removed."""
# pytorch/pytorch#68046: register_ Hook causes the CUDA out of memory, and remove() is useless
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "_backward_hooks"
# lines = ["mask = "]
# bytes = 32768  # 128 x 64 floats
# ///
import torch
from torch import nn

layer = nn.Linear(64, 128)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)


def mask_gradient(weight, mask):
    weight.register_hook(lambda gradient: gradient * mask)


for step in range(60):
    hidden = layer(torch.randn(32, 64))
    mask = (torch.rand(128, 64) > 0.1).float()
    mask_gradient(layer.weight, mask)
    loss = hidden.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
