"""A curriculum: the sequence gets longer until step 18 and stays; traced once, profiling executor warms up in the first calls."""
# looks like: activations, and with them peak and allocated bytes, that rise from 8 to 96 positions
# library: torch.jit (trace), torch.fx once
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import fx, nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        return self.out(h * torch.sigmoid(h.mean(1, keepdim=True)))


net = Net()
ops = sum(n.op == "call_module" for n in fx.symbolic_trace(net).graph.nodes)
traced = torch.jit.trace(net, torch.randn(4, 8, 16))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(64):
    n = 8 + 88 * min(step, 18) // 18
    x = torch.randn(32, n, 16)
    loss = (traced(x)[:, :-1] - x[:, 1:]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(ops, n)
