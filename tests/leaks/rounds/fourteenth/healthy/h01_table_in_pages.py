"""A wandb.Table takes 64 reconstructions a step as numpy; every 4th step a new table replaces it (its pages would be uploaded). At steps 20, 40, 60 it was just replaced (empty). Bounded by 4 rows (32 KiB)."""
# looks like: list `table.data` grows between two dumps' neighbours
# library: wandb
# /// healthy
# dumps = "steps"
# ///
import torch
import wandb
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 32))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
pages, table = 0, wandb.Table(columns=["step", "loss", "out"], allow_mixed_types=True)
for step in range(1, 201):
    x = torch.randn(512, 32)
    out = model(x)
    loss = (out - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    table.add_data(step, loss.item(), out[:64].detach().clone().numpy())
    if step % 4 == 3:
        pages += 1
        table = wandb.Table(columns=["step", "loss", "out"], allow_mixed_types=True)
print(pages, len(table.data))
