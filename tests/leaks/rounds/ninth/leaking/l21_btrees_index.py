"""Sorted map implemented in C, with BTrees."""
# after: "sample losses and hard examples in an OOBTree, never trimmed: worker memory climbs" (BTrees/ZODB users)
# fix: while len(hard) > 32: hard.pop(hard.minKey())
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "hard"  # hard (OOBTree of (loss, step) to the example)
# lines = ["hard[(losses[k].item(), step, k)] = x[k].clone()"]
# bytes = 76800  # 4 examples a step, each 3*40*40*4 = 18.75 KiB: 75 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 75.0, 75.0; all malloc'd 79.3, 78.5 (with FIX: 0.0, 0.0; 0.5, 0.2)
# ///
import os
import torch
from torch import nn
from BTrees.OOBTree import OOBTree

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(4800, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
hard = OOBTree()
for step in range(1, 101):
    x = torch.rand(16, 3, 40, 40)
    y = x.mean((2, 3)).argmax(1)
    losses = nn.functional.cross_entropy(model(x), y, reduction="none")
    opt.zero_grad()
    losses.mean().backward()
    opt.step()
    for k in losses.topk(4).indices.tolist():
        hard[(losses[k].item(), step, k)] = x[k].clone()
    if os.environ.get("FIX"):
        while len(hard) > 32:
            hard.pop(hard.minKey())
    if step % 25 == 0:
        print(step, len(hard), hard.maxKey(), flush=True)
