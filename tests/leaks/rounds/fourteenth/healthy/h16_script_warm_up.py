"""A scripted module sees 6 shapes in the first 18 steps: the profiling executor specialises and compiles (its code and plans stay), then the shapes repeat. Warm up ends before step 20."""
# /// healthy
# dumps = "asks"
# ///
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 128), nn.Linear(128, 64)

    def forward(self, x):
        y = torch.tanh(self.a(x)) * 1.5 + 0.1
        y = y * torch.sigmoid(y) - y.mean(1, keepdim=True)
        return x + self.b(y)


scripted = torch.jit.script(nn.Sequential(Block(), Block(), Block()).eval())
sizes = [16, 24, 32, 48, 64, 96]
with torch.no_grad():
    for i in range(1, 201):
        out = scripted(torch.randn(sizes[i % 6], 64))
        at(i)
print(out.shape)
