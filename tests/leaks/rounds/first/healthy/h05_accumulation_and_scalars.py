"""Gradient accumulation over four micro-batches, scalar log as a list of floats, moving average tensor."""
# bytes a step: 0 in tensors; a few dozen bytes of Python floats and dicts (log of numbers: no leak)
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 66)
average = torch.zeros(64, 10)
log = []
for step in range(66):
    opt.zero_grad()
    total = 0.0
    for micro in range(4):
        x = torch.randn(64, 64)
        y = torch.randint(0, 10, (64,))
        out = model(x)
        loss = nn.functional.cross_entropy(out, y) / 4
        loss.backward()
        total += loss.item()
        average = 0.99 * average + 0.01 * out.detach()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
    opt.step()
    sched.step()
    log.append({"step": step, "loss": total, "norm": norm, "lr": sched.get_last_lr()[0]})
print(log[-1], average.norm().item())
