"""Every 20 steps predictions of the whole held-out set (1500*64*4 = 375 KiB) replace the last ones; a better checkpoint replaces the old one. At step 20 (the first evaluation ends with step 20) all of it is there once."""
# report: "memory is higher each time the evaluation has run"
# kind: the last evaluation's predictions and the best checkpoint are kept
# library: torch
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.9, 0.3
# /// healthy
# dumps = "steps"
# ///
import copy
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
held_out = torch.randn(1500, 64)
report = {"predictions": None, "loss": [], "best": None}


@torch.no_grad()
def evaluate():
    model.eval()
    report["predictions"] = torch.cat([model(part) for part in held_out.split(100)])
    loss = (report["predictions"] - held_out.sin()).pow(2).mean().item()
    if not report["loss"] or loss < min(report["loss"]):
        report["best"] = copy.deepcopy(model.state_dict())
    report["loss"].append(loss)
    plateau.step(loss)
    model.train()


for step in range(1, 121):
    if step % 20 == 0:
        evaluate()
    x = torch.randn(64, 64)
    loss = (model(x) - x.sin()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(report["loss"])
