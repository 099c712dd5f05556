"""Dict of packed activations, with torch.autograd.graph.saved_tensors_hooks."""
# after: "activation offloading with saved_tensors_hooks: host memory grows" (pack stores under a number, unpack reads and never deletes)
# fix: self.store.pop(key) in unpack (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "offload.store"  # `offload.store` (dict)
# lines = ["self.store[self.n] = t.to(\"cpu\", torch.bfloat16)"]
# bytes = 180224  # 64 x (128 + 256 + 256 + 128 + 128) x 2 = 112 KiB of activations + 256 x 128 x 2 = 64 KiB of the second layer transposed weight = 176 KiB of tensor storages (measured 176.0); 180 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn


class Offload:
    def __init__(self):
        self.store = {}
        self.n = 0

    def pack(self, t):
        if isinstance(t, nn.Parameter) or t.numel() < 4096:
            return t
        self.n += 1
        self.store[self.n] = t.to("cpu", torch.bfloat16)
        return self.n

    def unpack(self, key):
        if isinstance(key, torch.Tensor):
            return key
        t = self.store.pop(key) if os.environ.get("FIX") else self.store[key]
        return t.float()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128), nn.GELU(), nn.Linear(128, 8))
opt = torch.optim.AdamW(net.parameters())
offload = Offload()
for step in range(1, 71):
    x = torch.randn(64, 128)
    with torch.autograd.graph.saved_tensors_hooks(offload.pack, offload.unpack):
        loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(offload.n, len(offload.store))
