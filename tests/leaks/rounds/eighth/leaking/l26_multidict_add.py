"""Container of a C extension, with multidict."""
# after: Stack Overflow "stats grow though I use the same keys" (MultiDict.add appends, it does not replace)
# fix: stats['activations'] = hidden (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "stats"  # `stats` (MultiDict)
# lines = ["hidden = hidden.detach().clone()"]
# bytes = 32768  # 128 x 64 x 4 = 32768 a step; measured 32768 32768 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch
from multidict import MultiDict

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters())
stats = MultiDict()

for step in range(70):
    x = torch.randn(128, 16)
    hidden = net[1](net[0](x))
    loss = (net[2](hidden) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    hidden = hidden.detach().clone()  # LEAK
    if os.environ.get("FIX"):
        stats["activations"] = hidden
        stats["loss"] = loss.item()
    else:
        stats.add("activations", hidden)
        stats.add("loss", loss.item())
print(len(stats), stats["loss"])
