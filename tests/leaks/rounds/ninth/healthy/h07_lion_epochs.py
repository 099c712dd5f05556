"""The list has at most 10 steps' logits (an epoch of 10 steps), then a metric is computed and the list is emptied. Saw tooth; steps 20, 40, 60 are the ends of epochs (full or empty)."""
# report: "outputs list for the epoch metric: memory goes up within the epoch"
# kind: outputs of an epoch are collected and cleared
# library: lion-pytorch
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.9, 0.1
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from lion_pytorch import Lion

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 10))
opt = Lion(model.parameters(), lr=1e-4, weight_decay=1e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=120)
for epoch in range(12):
    logits, labels = [], []
    for step in range(10):
        x = torch.randn(256, 32)
        y = x[:, :10].argmax(1)
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        logits.append(out.detach())
        labels.append(y)
    accuracy = (torch.cat(logits).argmax(1) == torch.cat(labels)).float().mean()
    if epoch % 4 == 0:
        print(epoch, round(accuracy.item(), 3), flush=True)
