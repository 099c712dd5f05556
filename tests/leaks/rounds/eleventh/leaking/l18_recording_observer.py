"""Quantization observers that record every tensor, with torch.ao.quantization."""
# after: "default_debug_qconfig and memory": RecordingObserver of torch.ao.quantization left attached while training goes on
# fix: MinMaxObserver instead of RecordingObserver
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache", "graph-nodes"]
# holder = ["net.act.tensor_val", "net.out_obs.tensor_val"]  # net.act.tensor_val and net.out_obs.tensor_val (lists of clones)
# lines = ["h = self.act(torch.relu(self.hidden(x)))", "return self.out_obs(self.head(h))"]
# bytes = 34048  # 34048 (malloc in use 40000) (32x256 float32 and 32x10 float32: 32768 + 1280 B; the clones are part of the graph, so nodes of it, freed by backward, stay with them)
# ///
import os
import warnings

warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
from torch.ao.quantization.observer import MinMaxObserver, RecordingObserver

torch.manual_seed(0)
Observer = MinMaxObserver if os.environ.get("FIX") else RecordingObserver


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.head = nn.Linear(64, 256), nn.Linear(256, 10)
        self.act, self.out_obs = Observer(dtype=torch.quint8), Observer(dtype=torch.quint8)

    def forward(self, x):
        h = self.act(torch.relu(self.hidden(x)))
        return self.out_obs(self.head(h))


net = Net()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(90):
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
