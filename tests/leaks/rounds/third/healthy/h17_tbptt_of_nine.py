"""Truncated back-propagation: the graph of a window of 9 steps grows and is freed (9 does not divide 20, 40, 60: the dumps see 2, 4, 6 steps of a window)."""
# /// healthy
# dumps = "steps"
# ///
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

cell = torch.nn.GRUCell(64, 128)
head = torch.nn.Linear(128, 64)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
h = torch.zeros(32, 128)
loss, window = 0.0, 0
for step in range(1, 67):
    x = torch.randn(32, 64)
    h = cell(x, h)
    loss = loss + (head(h) - x).pow(2).mean()
    window += 1
    if step % 9 == 0:
        loss.backward()
        last = loss.item() / window
        h, loss, window = h.detach(), 0.0, 0
    opt.step()                       # no gradient, no change, between the ends of windows
    opt.zero_grad()
print("loss", round(last, 4))
