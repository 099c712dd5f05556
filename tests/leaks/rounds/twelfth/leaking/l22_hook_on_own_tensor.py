"""Reference cycle through the autograd's hooks, not collectable, with torch."""
# after: "register_hook with a lambda that uses the tensor itself leaks" (PyTorch issues: reference cycle tensor -> hook -> closure -> tensor that the garbage collector does not see)
# fix: handle.remove() after backward (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["graph-cycle", "reference-cycle"]
# holder = "closure of hooks"  # closure of the hook on `h` (cell h); nothing of the program refers to it; a weakref, or handle.remove() after backward, cuts it
# lines = ["h = torch.sigmoid(self.a(x))"]
# bytes = 40000  # 50 x 200 x 4 = 39.1 KiB of tensor storages (measured); 43 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(32, 200), nn.Linear(200, 1)
        self.saliency = torch.zeros(200)

    def forward(self, x):
        h = torch.sigmoid(self.a(x))

        def gradient_times_activation(grad):
            self.saliency.mul_(0.9).add_((grad * h.detach()).abs().mean(0))

        self.handle = h.register_hook(gradient_times_activation)
        return self.b(h)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters())
for step in range(1, 71):
    x = torch.randn(50, 32)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX"):
        net.handle.remove()
print(loss.item(), net.saliency.max().item())
