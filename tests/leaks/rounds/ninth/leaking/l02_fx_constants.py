"""Module attributes that a library adds, with torch.fx."""
# after: "symbolic_trace of the same model in a loop: the model gets more and more _tensor_constant attributes" (torch.fx)
# fix: trace once before the loop
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "model._tensor_constant"  # model.__dict__['_tensor_constant0'] ... '_tensor_constantN' (one more attribute of the traced model a step)
# lines = ["return torch.sin(t)"]
# bytes = 32768  # 128*64*4 = 32 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 32.0, 32.0; all malloc'd 34.2, 34.0 (with FIX: 0.0, 0.0; 0.4, 0.2)
# ///
import os
import torch
from torch import nn, fx

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, width=64, length=128):
        super().__init__()
        self.length, self.width = length, width
        self.inp = nn.Linear(16, width)
        self.out = nn.Linear(width, 1)

    def positions(self):
        t = torch.arange(self.length)[:, None] / (1 + torch.arange(self.width))
        return torch.sin(t)

    def forward(self, x):
        h = torch.relu(self.inp(x) + self.positions())
        return self.out(h.mean(1))


def count_ops(model):
    """How many calls of each kind are in the model: printed in the log."""
    traced = fx.symbolic_trace(model)
    ops = {}
    for node in traced.graph.nodes:
        ops[node.op] = ops.get(node.op, 0) + 1
    return ops


model = Encoder()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
ops = count_ops(model)
for step in range(1, 101):
    x = torch.randn(8, 128, 16)
    loss = (model(x) - x.mean((1, 2))[:, None]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if not os.environ.get("FIX"):
        ops = count_ops(model)
    if step % 25 == 0:
        print(step, round(loss.item(), 4), ops, flush=True)
