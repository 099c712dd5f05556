"""Saved tensors are packed into a table by number; what backward never unpacks is never removed."""
# pytorch/pytorch#82482: Saved tensor hooks checkpoint implementation cannot robustly clear storage
# AlibabaPAI/torchacc#41: fix the memory leak of offloading
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "table"
# lines = ["self.table[key] = "]
# bytes = 32768  # the side branch: its input of 64 x 64 floats, and what tanh saves
# ///
import itertools

import torch
from torch import nn


class Offload(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self):
        self.table, self.numbers = {}, itertools.count()
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor):
        key = next(self.numbers)
        self.table[key] = tensor.detach().clone()
        return key

    def unpack(self, key):
        return self.table.pop(key)


trunk, auxiliary = nn.Linear(64, 64), nn.Linear(64, 64)
optimizer = torch.optim.SGD([*trunk.parameters(), *auxiliary.parameters()], lr=0.01)
offload = Offload()
for step in range(60):
    with offload:
        hidden = trunk(torch.randn(64, 64))
        side = torch.tanh(auxiliary(hidden.detach())).mean()
        loss = hidden.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
