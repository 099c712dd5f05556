"""An overflow skips the step, and with it the code that frees the flat buffers of reduction."""
# EleutherAI/DeeperSpeed#66: Resolve gradient accumulation memory leak
# deepspeedai/DeepSpeed#3903: fix memory leak with zero-3
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "ipg_buffers"
# lines = ["flat = torch.cat("]
# bytes = 33536  # every second step keeps 128 x 128 + 128 + 256 floats
# ///
import torch
from torch import nn


class ZeroOptimizer:
    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.optimizer = torch.optim.Adam(self.parameters)
        self.ipg_buffers = []

    def reduce_gradients(self):
        flat = torch.cat([parameter.grad.flatten() for parameter in self.parameters])
        self.ipg_buffers.append(flat)
        return flat.abs().max()

    def step(self, overflow):
        self.reduce_gradients()
        self.optimizer.step()
        if overflow:
            return
        self.ipg_buffers.pop()


model = nn.Sequential(nn.Linear(128, 128), nn.Linear(128, 2, bias=False))
optimizer = ZeroOptimizer(model.parameters())
for step in range(60):
    loss = model(torch.randn(8, 128)).square().mean()
    optimizer.optimizer.zero_grad()
    loss.backward()
    optimizer.step(overflow=step % 2 == 0)
