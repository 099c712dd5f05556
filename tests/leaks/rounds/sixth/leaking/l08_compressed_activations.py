"""Dict of saved-tensor hooks."""
# after: forum "saved_tensors_hooks to compress activations: memory keeps growing" (pack puts into a dict, unpack only reads)
# fix: unpack pops
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "compressor.store"
# lines = ["self.store[self.next] = t.detach().to(torch.bfloat16)"]
# bytes = 187904  # bfloat16 copies: gc count and torch's allocator; malloc in all 193944
# ///
import os
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

torch.manual_seed(0)


class Compressor:
    def __init__(self):
        self.store, self.next = {}, 0

    def pack(self, t):
        if not t.is_floating_point() or t.numel() < 1024:
            return t
        self.next += 1
        self.store[self.next] = t.detach().to(torch.bfloat16)
        return self.next, t.dtype

    def unpack(self, packed):
        if isinstance(packed, torch.Tensor):
            return packed
        key, dtype = packed
        half = self.store.pop(key) if os.environ.get("FIX") else self.store[key]
        return half.to(dtype)


compressor = Compressor()
model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(64):
    x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))
    with saved_tensors_hooks(compressor.pack, compressor.unpack):
        loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
