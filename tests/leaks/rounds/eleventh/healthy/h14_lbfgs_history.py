"""LBFGS keeps the last 12 directions and steps (history_size=12); max_iter=1: one a step, full by step 14."""
# looks like: state of the optimizer (old_dirs, old_stps) grows by a vector of all weights in every step
# library: torch.optim
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 1))
x = torch.randn(256, 32)
y = (x[:, :4].sum(1, keepdim=True)).sin()
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.3, max_iter=1, history_size=12, tolerance_grad=0, tolerance_change=0)


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss


for step in range(90):
    loss = optimizer.step(closure)
print(round(loss.item(), 4))
