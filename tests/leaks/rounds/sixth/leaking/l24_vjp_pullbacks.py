"""Closures of torch.func, with torch.func."""
# after: "functorch vjp: memory not released": pullbacks are kept to compute rows of a Jacobian later
# fix: call the pullback at once, keep its rows of 10 numbers
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "pullbacks"  # pullbacks[*] (closures of vjp_fn: primals_out, flat_primals_out / the graph)
# lines = ["out, pullback = vjp(lambda inp: functional_call(net, params,", "x = torch.randn(128, 32)"]
# bytes = 65536  # x 16384, hidden 32768, out 16384; torch's allocator
# ///
import os
import torch
from torch import nn
from torch.func import functional_call, vjp
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 32))
params = {k: v.detach() for k, v in net.named_parameters()}
pullbacks = []


def rows(pullback, k):
    g = torch.zeros(128, 32)
    g[:, k] = 1
    return [pullback(g)[0].mean().item()]


for i in range(1, 66):
    x = torch.randn(128, 32)
    out, pullback = vjp(lambda inp: functional_call(net, params, (inp,)), x)
    pullbacks.append(rows(pullback, 3) if os.environ.get("FIX") else pullback)
    at(i)
print(len(pullbacks))
