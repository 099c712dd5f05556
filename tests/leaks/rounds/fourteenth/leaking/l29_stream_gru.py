"""Autograd graph chained over steps by the recurrent state."""
# after: streaming inference without no_grad, the state is handed on
# fix: with torch.no_grad() (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "stream.hidden"
# lines = ["hidden = self.cell(torch.relu(self.inp(frame)), hidden)"]
# bytes = 53248  # 53,248 measured storages the graph saves (relu's result, GRU cell's workspace 16x5x96x4, hidden, frame 16x64x4); malloc 73,600 (upper end, 21 nodes)
# ///
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(64, 96)
        self.cell = nn.GRUCell(96, 96)
        self.out = nn.Linear(96, 64)

    def forward(self, frame, hidden):
        hidden = self.cell(torch.relu(self.inp(frame)), hidden)
        return torch.sigmoid(self.out(hidden)) * frame, hidden


class Stream:
    def __init__(self, model):
        self.model = model.eval()
        self.hidden = torch.zeros(16, 96)

    def push(self, frame):
        if os.environ.get("FIX"):
            with torch.no_grad():
                clean, self.hidden = self.model(frame, self.hidden)
        else:
            clean, self.hidden = self.model(frame, self.hidden)
        return clean.detach().abs().mean().item()


stream = Stream(Denoiser())
level = [0.0]
for i in range(1, 1001):
    level = [0.9 * level[0] + 0.1 * stream.push(torch.randn(16, 64))]
    at(i)
print(level)
