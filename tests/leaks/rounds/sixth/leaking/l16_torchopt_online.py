"""Differentiable optimizer, parameters are outputs of a graph that gets longer, with torchopt (MetaSGD)."""
# after: TorchOpt docs, issues: "meta-optimizer: memory grows if the inner loop never stops the gradient"
# fix: torchopt.stop_gradient(net) after each step
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached"]
# holders = ["net.", ".weight", ".bias"]  # net's parameters (net.0.weight, net.0.bias, net.2.weight, net.2.bias: not leaves any more; all of them)
# lines = ["pred = net(x)", "loss = nn.functional.mse_loss(pred, y)", "inner.step(loss)", "x = torch.randn(64, 32)"]
# bytes = 25508  # gc walk and torch's allocator both; malloc in all 56229 with nodes
# ///
import os
import torch
import torchopt
from torch import nn
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
inner = torchopt.MetaSGD(net, lr=0.01)


def adapt(x, y):
    pred = net(x)
    loss = nn.functional.mse_loss(pred, y)
    inner.step(loss)
    if os.environ.get("FIX"):
        torchopt.stop_gradient(net)
        torchopt.stop_gradient(inner)
    return loss.item()


for i in range(1, 65):
    x = torch.randn(64, 32)
    y = x.sum(1, keepdim=True)
    loss = adapt(x, y)
    at(i)
print(loss)
