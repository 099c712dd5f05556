"""Specialisation in the first calls; 4 batch sizes come in turn from the first steps on. Only small growth of compiled plans before step 10."""
# report: "first calls of a scripted model take memory" (torch.jit profiling executor warm-up, 4 batch sizes in turn)
# library: torch.jit
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(48, 96), nn.Linear(96, 48)

    def forward(self, x):
        h = torch.relu(self.a(x))
        if h.mean() > 0.5:
            h = h * 0.5
        return self.b(h) + x


net = torch.jit.script(nn.Sequential(Block(), Block()))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(1, 71):
    x = torch.randn([16, 32, 48, 64][step % 4], 48)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
