"""Write-back cache of a shelf, with shelve."""
# after: Stack Overflow "shelve with writeback=True eats all my memory"
# fix: shelf.sync() after each write (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "shelf.cache"  # `shelf.cache` (dict of the Shelf)
# lines = ["shelf[\"step%d\" % step] = hidden.detach().clone()"]
# bytes = 49152  # 128 x 96 x 4 = 49152 a step; measured 49152 49152 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import shelve
import tempfile
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 96), torch.nn.Tanh(), torch.nn.Linear(96, 1))
opt = torch.optim.Adam(net.parameters())
folder = tempfile.TemporaryDirectory()
shelf = shelve.open(os.path.join(folder.name, "features"), writeback=True)

for step in range(70):
    x = torch.randn(128, 32)
    hidden = net[1](net[0](x))
    loss = (net[2](hidden) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    shelf["step%d" % step] = hidden.detach().clone()  # LEAK
    if os.environ.get("FIX"):
        shelf.sync()
print(len(shelf))
shelf.close()
