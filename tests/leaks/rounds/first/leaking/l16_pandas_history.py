"""A larger frame replaces the smaller one in each step: history = pd.concat([history, rows])."""
# after: pandas-dev/pandas: concat in a loop
# fix: aggregate (mean per step), or write rows to a file
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "tracker.history"
# lines = ["self.history = pd.concat("]
# bytes = 65536  # 1,024 rows x 8 columns of float64, memory of numpy
# ///
import pandas as pd
import torch
from torch import nn

torch.manual_seed(0)
COLUMNS = [f"head{i}" for i in range(8)]


class Tracker:
    def __init__(self):
        self.history = pd.DataFrame(columns=COLUMNS, dtype="float64")

    def add(self, values):
        rows = pd.DataFrame(values.double().numpy(), columns=COLUMNS)
        self.history = pd.concat([self.history, rows], ignore_index=True)

    def mean(self):
        return self.history.iloc[-1024:].mean()


tracker = Tracker()
model = nn.Linear(32, 8)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(66):
    per_sample = model(torch.randn(1024, 32)).square()
    loss = per_sample.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    tracker.add(per_sample.detach())
print(len(tracker.history), tracker.mean()["head0"])
