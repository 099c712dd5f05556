"""Library list of rows; numpy arrays; wandb (no run is started)."""
# after: wandb.Table of predictions grows for the whole run
# fix: a new table every few rows (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "table.data"  # table.data (wandb.Table.data)
# lines = ["sample = out[:64].detach().clone().numpy()"]
# bytes = 8192  # 8,192 (64x32x4: storage of a torch tensor whose numpy view is held: the memory is created by .clone()); malloc 8,970
# ///
import os
import torch
import wandb
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 32))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
table = wandb.Table(columns=["step", "loss", "reconstruction"], allow_mixed_types=True)


def log_predictions(step, loss, out):
    global table
    sample = out[:64].detach().clone().numpy()
    table.add_data(step, float(loss), sample)
    if os.environ.get("FIX") and len(table.data) >= 5:
        table = wandb.Table(columns=table.columns, allow_mixed_types=True)


for step in range(1, 201):
    x = torch.randn(512, 32)
    out = model(x)
    loss = (out - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log_predictions(step, loss, out)
print("rows", len(table.data))
