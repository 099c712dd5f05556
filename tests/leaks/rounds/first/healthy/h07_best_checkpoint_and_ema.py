"""lucidrains/ema-pytorch: one EMA copy, and the best weights replaced whenever the loss is lower."""
# bytes a step: 0 (best: one copy of the weights, EMA: one copy)
# /// healthy
# dumps = "steps"
# ///
import copy
import torch
from torch import nn
from ema_pytorch import EMA

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1))
ema = EMA(model, beta=0.99, update_after_step=5, update_every=2)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
best = {"loss": float("inf"), "weights": None, "step": -1}
x = torch.randn(256, 64)
y = x[:, :4].sum(1, keepdim=True)


def evaluate():
    with torch.no_grad():
        return nn.functional.mse_loss(ema(x), y).item()


for step in range(66):
    pick = torch.randint(0, 256, (64,))
    loss = nn.functional.mse_loss(model(x[pick]), y[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update()
    value = evaluate()
    if value < best["loss"]:
        best = {"loss": value, "weights": copy.deepcopy(model.state_dict()), "step": step}
print(best["step"], best["loss"])
