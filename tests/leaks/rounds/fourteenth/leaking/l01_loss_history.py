"""Autograd graph in a list of a dict; pytorch-optimizer."""
# after: validation loss appended to the history without .item() (forum: 'memory grows every epoch, val losses')
# fix: history['val_loss'].append(val.item()) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "history['val_loss']"
# lines = ["loss = nn.functional.mse_loss(model(x_val), y_val)"]
# bytes = 262656  # 262,656 measured: storages the kept graph saves (2 x (64x256 in and out of GELU) x 4 = 262,144) + 256 for difference + 256 (mse's saved inputs/loss); malloc 275,400 (upper end: nodes, tensor objects)
# ///
import os
import torch
from torch import nn
from pytorch_optimizer import AdaBelief

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(96, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 1))
optimizer = AdaBelief(model.parameters(), lr=1e-3)
history = {"train_loss": [], "val_loss": [], "lr": []}
x_val, y_val = torch.randn(64, 96), torch.randn(64, 1)


def train_one(batch):
    x, y = batch
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def validate():
    model.eval()
    loss = nn.functional.mse_loss(model(x_val), y_val)
    model.train()
    return loss


for step in range(1, 301):
    x = torch.randn(128, 96)
    loss = train_one((x, x[:, :1] * 2))
    history["train_loss"].append(loss.item())
    val = validate()
    history["val_loss"].append(val.item() if os.environ.get("FIX") else val)
    history["lr"].append(optimizer.param_groups[0]["lr"])
    if step % 100 == 0:
        print(step, float(sum(history["val_loss"][-10:]) / 10))
