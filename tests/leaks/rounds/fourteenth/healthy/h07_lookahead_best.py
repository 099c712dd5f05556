"""pytorch_optimizer's Lookahead keeps slow weights (made in the first step), and the best checkpoint is a deepcopy of the state that replaces the one before whenever the loss improves (often). Constant: weights x (moments + slow + best)."""
# library: pytorch_optimizer
# /// healthy
# dumps = "steps"
# ///
import copy
import torch
from pytorch_optimizer import Lookahead
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = Lookahead(torch.optim.AdamW(model.parameters(), lr=1e-3), k=5)
best = {"loss": float("inf"), "state": None}
for step in range(1, 161):
    x = torch.randn(256, 64)
    loss = (model(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < best["loss"]:
        best = {"loss": loss.item(), "step": step, "state": copy.deepcopy(model.state_dict())}
print(best["step"], best["loss"])
