"""Stochastic weight averaging from step 30 on, beside a moving average from the start: two copies, written in place."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn

model = nn.Sequential(nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
swa_model, swa_schedule = None, None
for step in range(60):
    x, target = torch.randn(64, 128), torch.randint(8, (64,))
    loss = nn.functional.cross_entropy(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update_parameters(model)
    if step == 30:
        swa_model, swa_schedule = AveragedModel(model), SWALR(optimizer, swa_lr=0.01)
    if swa_model is not None:
        swa_model.update_parameters(model)
        swa_schedule.step()
    if step % 15 == 14 and swa_model is not None:
        update_bn([torch.randn(64, 128) for _ in range(4)], swa_model)
