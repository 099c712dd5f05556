"""One more layer of six is unfrozen every 10 steps (steps 1, 11, ... 51): gradients and exp_avg/exp_avg_sq (4 * 160*160 * 4 B = 300 KiB and more) come with it; complete at step 51. Still growing at step 20 and 40, bounded by the six layers; after step 51 nothing grows."""
# report: "memory grows in stairs during fine tuning" (gradual unfreezing)
# kind: Adam's state of layers that are unfrozen one after the other
# library: torch.optim
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 30.2, 30.2; all malloc'd 32.5, 31.4
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn

torch.manual_seed(0)
layers = nn.ModuleList(nn.Linear(160, 160) for _ in range(6))
head = nn.Linear(160, 4)
for p in layers.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=1e-3)
for step in range(1, 101):
    if step % 10 == 1 and step <= 51:
        for p in layers[5 - step // 10].parameters():
            p.requires_grad_(True)
    x = torch.randn(32, 160)
    h = x
    for layer in layers:
        h = torch.tanh(layer(h))
    loss = nn.functional.cross_entropy(head(h), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, sum(p.requires_grad for p in layers.parameters()), round(loss.item(), 4), flush=True)
