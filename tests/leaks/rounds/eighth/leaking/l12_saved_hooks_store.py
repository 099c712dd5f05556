"""Pack/unpack hooks with a store by key, with torch.autograd.graph."""
# after: forum "my offloading with saved_tensors_hooks leaks: the store is never emptied"
# fix: store.pop(key) in unpack (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "store"  # `store` (dict)
# lines = ["store[key] = tensor.to(torch.bfloat16)"]
# bytes = 49536  # copies of what two Linear layers and a tanh save, see code: measured x and h (tanh result) and diff in bfloat16: 128x64x2 x 3 (x, tanh result twice: saved by Tanh and by Linear) + 128x1x2 + weight 64x1 x2, see: 49536 by gc
# ///
import itertools
import os
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
store = {}
keys = itertools.count()


def pack(tensor):
    key = next(keys)
    store[key] = tensor.to(torch.bfloat16)  # LEAK
    return key, tensor.dtype


def unpack(packed):
    key, dtype = packed
    kept = store.pop(key) if os.environ.get("FIX") else store[key]
    return kept.to(dtype)


for step in range(70):
    x = torch.randn(128, 64)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), len(store))
