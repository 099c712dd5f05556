"""A few compilations in the first steps (2 to 3 graphs), then none; batch sizes change all the time."""
# report: "torch.compile: memory rises with each new batch size": recompilations for the first shapes, then a dynamic graph
# library: torch.compile (backend aot_eager)
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 128)
        self.b = nn.Linear(128, 8)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)) * torch.sigmoid(x.mean(1, keepdim=True)))


net = Net()
fast = torch.compile(net, backend="aot_eager")
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(66):
    n = 40 + (step * 13) % 37
    x = torch.randn(n, 32)
    loss = nn.functional.cross_entropy(fast(x), torch.randint(0, 8, (n,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
