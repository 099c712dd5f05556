"""Losses kept for the plot at the end."""
# kind: graph kept by the losses in a list, with torch
# after: "CPU memory increases every iteration" (forum): losses.append(loss) instead of loss.item()
# fix: losses.append(loss.item()) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "losses"
# lines = ["loss = criterion(net(x), y)", "h = torch.tanh(self.a(x))", "x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))"]
# bytes = 88072  # saved by the graph: tanh output 128x96x4 = 49152, log_softmax output 128x10x4 = 5120, x 128x64x4 = 32768, y 128x8 = 1024; 88064 and the scalars (weights are saved too, but shared); measured, bytes a step in 20..40, 40..60: tensors that gc sees 82948,82948, malloc in use 96984,97132, rss 98304,98099; storages the kept graph saves 88072; with FIX: malloc 206,145, rss 1228,409
# ///
import os
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 96), nn.Linear(96, 10)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        return self.b(h)


net, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
losses = []
for epoch in range(7):
    for it in range(10):
        x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # a second loss was planned
        optimizer.step()
        losses.append(loss.item() if os.environ.get("FIX") else loss)
    print("epoch", epoch, "loss", float(sum(float(v) for v in losses[-10:]) / 10))
