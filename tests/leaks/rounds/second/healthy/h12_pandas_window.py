"""A moving window of statistics in a pandas.DataFrame: 4,000 rows at most, full at step 31, older rows go."""
# bytes a step: until step 31 128 rows * 65 columns * 8 B = 66,560 B outside of tensors, then 0 (each step copies the window: new memory, old freed)
# /// healthy
# dumps = "steps"
# ///
import pandas as pd
import torch
from torch import nn

torch.manual_seed(0)
ROWS = 4_000
names = [f"u{n}" for n in range(64)]


class Monitor:
    def __init__(self):
        self.window = None

    def add(self, step, hidden):
        rows = pd.DataFrame(hidden.double().numpy(), columns=names)
        rows["step"] = float(step)
        if self.window is None:
            self.window = rows
        else:
            self.window = pd.concat([self.window, rows], ignore_index=True).iloc[-ROWS:]

    def drift(self):
        return float((self.window["u0"].tail(512).mean() - self.window["u0"].head(512).mean()))


monitor = Monitor()
enter = nn.Linear(16, 64)
leave = nn.Linear(64, 1)
opt = torch.optim.Adam([*enter.parameters(), *leave.parameters()], lr=1e-3)
for step in range(66):
    hidden = torch.tanh(enter(torch.randn(128, 16)))
    loss = leave(hidden).square().mean()
    opt.zero_grad()
    loss.backward()
    monitor.add(step, hidden.detach())
    opt.step()
print("loss", loss.item(), "rows", len(monitor.window), "drift", monitor.drift())
