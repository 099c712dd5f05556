"""Attribute of nodes of an fx graph, with torch.fx."""
# after: forum "fx Interpreter to look at activations, memory goes up": values are stored in node.meta in each run
# fix: node.meta['seen'] = [result]
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ".meta['seen']"  # recorder.module.graph nodes' meta['seen'] (lists), gm.graph
# lines = ["kept.append(torch.mul(result.detach(), 1.0))"]
# bytes = 57600  # (80 x (120 + 60) float32; storages)
# ///
import os

import torch
import torch.fx as fx
import torch.nn as nn


class Recorder(fx.Interpreter):
    def run_node(self, node):
        result = super().run_node(node)
        if node.op == "call_function" and "relu" in node.name:
            kept = node.meta.setdefault("seen", [])
            if os.environ.get("FIX"):
                kept.clear()
            kept.append(torch.mul(result.detach(), 1.0))
        return result


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(40, 120)
        self.b = nn.Linear(120, 60)
        self.c = nn.Linear(60, 3)

    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))


torch.manual_seed(0)
net = Net()
gm = fx.symbolic_trace(net)
recorder = Recorder(gm)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(70):
    x = torch.randn(80, 40)
    loss = nn.functional.cross_entropy(recorder.run(x), torch.randint(0, 3, (80,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
