"""A reversible block keeps its output on ctx until backward; a head that the loss leaves out never gets there."""
# RobinBruegger/RevTorch#1: Subtle memory leak in _ReversibleModuleFunction
# dmlc/dgl#1060: [Backend] Memory leak fix in PyTorch backend
# /// leak
# dumps = "steps"
# kinds = ["graph-cycle", "reference-cycle"]
# holder = "Reversible"
# lines = ["y = x + torch.relu(", "trunk_out = trunk("]
# bytes = [32768, 100000]  # 128 x 64 floats of the second block, and what the trunk saved for it
# ///
import gc

import torch
from torch import nn

gc.disable()


class Reversible(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x + torch.relu(x)
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        del ctx.y
        return 2 * grad


trunk = nn.Linear(32, 64)
optimizer = torch.optim.SGD(trunk.parameters(), lr=0.01)
for step in range(60):
    trunk_out = trunk(torch.randn(128, 32))
    used, unused = Reversible.apply(trunk_out), Reversible.apply(trunk_out)
    loss = used.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
