"""70 x 256 KiB are allocated before the first step (torch.empty); pages are touched for the first time in each step, so rss goes up by 256 KiB a step until the last step, and allocated bytes do not."""
# report: "RSS climbs the whole first epoch" (a bank for all features is allocated at the start, rows are written step by step)
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)
rows = 70 * 128
bank = torch.empty(rows, 512)
net = nn.Sequential(nn.Linear(64, 512), nn.ReLU())
head = nn.Linear(512, 64)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)
for step in range(1, 71):
    x = torch.randn(128, 64)
    f = net(x)
    bank[(step - 1) * 128:step * 128] = f.detach()
    loss = (head(f) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(bank.mean().item())
