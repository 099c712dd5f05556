"""Adam's state exists for all parameters from step 15 on; scalars of the schedulers only."""
# about: Warm up of the learning rate, layers are unfrozen at steps 5, 10 and 15.
# kind: schedulers, lazily made optimizer state
# looks like: Adam.state grows for 15 steps
# library: pytorch_warmup
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 345,118, rss 1024,1024
# /// healthy
# dumps = "steps"
# ///
import pytorch_warmup as warmup
import torch
from torch import nn

torch.manual_seed(0)
layers = nn.ModuleList([nn.Linear(128, 128) for _ in range(4)])
opt = torch.optim.AdamW(layers.parameters(), 1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 70)
warm = warmup.LinearWarmup(opt, warmup_period=20)
layers.requires_grad_(False)
layers[3].requires_grad_(True)
for step in range(1, 71):
    if step in (5, 10, 15):
        layers[3 - step // 5].requires_grad_(True)
    x = torch.randn(32, 128)
    h = x
    for layer in layers:
        h = h + torch.tanh(layer(h))
    loss = (h - 2 * x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with warm.dampening():
        schedule.step()
    if step % 20 == 0:
        print(step, loss.item(), schedule.get_last_lr())
