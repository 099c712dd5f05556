"""Observer of torch.ao.quantization keeps each activation, with torch.ao.quantization."""
# after: forum "RecordingObserver from a debugging session left in the model: memory grows"
# fix: net.tap.tensor_val.clear() every step (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "net.tap.tensor_val"  # `net.tap.tensor_val` (list)
# lines = ["self.tap(h.detach())"]  # correction: the header said the line before; forward() of the observer copies what it is called with
# bytes = 30720  # 64 x 120 x 4 = 30720 a step; and the graph? the observer keeps the activation with its graph only if not detached (it is detached here); measured 30720 30720 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch
from torch import nn
from torch.ao.quantization.observer import RecordingObserver

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(40, 120)
        self.tap = RecordingObserver(dtype=torch.quint8)
        self.out = nn.Linear(120, 2)

    def forward(self, x):
        h = self.inp(x).tanh()  # LEAK
        self.tap(h.detach())
        return self.out(h)


net = Net()
opt = torch.optim.Adam(net.parameters())
for step in range(70):
    x = torch.randn(64, 40)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX"):
        net.tap.tensor_val.clear()
print(loss.item())
