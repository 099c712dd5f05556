"""Pack hook of autograd, dict by id, with torch.autograd.graph."""
# after: forum "my CPU offload with saved_tensors_hooks leaks": pack puts the tensor into a dict under a fresh number, unpack reads it and leaves it there
# fix: self.store.pop(key) in unpack
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "Offload.store"  # Offload.store (class attribute, dict)
# lines = ["cls.store[cls.counter] = (tensor.device, tensor.to(torch.flo"]
# bytes = 53248  # float16: x 8,192, sigmoid 2 x 16,384, weight 4,096, relu 8,192; storages
# ///
import os

import torch
import torch.nn as nn


class Offload(torch.autograd.graph.saved_tensors_hooks):
    store = {}
    counter = 0

    def __init__(self):
        super().__init__(self.pack, self.unpack)

    @classmethod
    def pack(cls, tensor):
        cls.counter += 1
        cls.store[cls.counter] = (tensor.device, tensor.to(torch.float16))
        return cls.counter, tensor.dtype

    @classmethod
    def unpack(cls, packed):
        key, dtype = packed
        device, tensor = cls.store.pop(key) if os.environ.get("FIX") else cls.store[key]
        return tensor.to(device, dtype)


torch.manual_seed(0)
block = nn.Sequential(nn.Linear(32, 64), nn.Sigmoid(), nn.Linear(64, 32))
head = nn.Linear(32, 2)
opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.05)
for step in range(66):
    x = torch.randn(128, 32)
    with Offload():
        hidden = block(x).relu()
    loss = nn.functional.cross_entropy(head(hidden), torch.randint(0, 2, (128,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), len(Offload.store), flush=True)
