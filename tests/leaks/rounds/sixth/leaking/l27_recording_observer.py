"""Observer of quantization, with torch.ao.quantization."""
# after: "quantization calibration uses all memory" with RecordingObserver left in the model
# fix: MinMaxObserver
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "model.obs.tensor_val"
# lines = ["self.obs(h)"]
# bytes = 49152  # 96*128*4
# ///
import os
import torch
from torch import nn
from torch.ao.quantization.observer import MinMaxObserver, RecordingObserver

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(32, 128), nn.Linear(128, 4)
        self.obs = MinMaxObserver() if os.environ.get("FIX") else RecordingObserver()

    def forward(self, x):
        h = torch.relu(self.inp(x))
        self.obs(h)
        return self.out(h)


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(64):
    x, y = torch.randn(96, 32), torch.randint(0, 4, (96,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
