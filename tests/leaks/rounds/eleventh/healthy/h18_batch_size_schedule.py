"""The batch grows with the learning rate schedule: 16, 32 from step 6, 64 from step 12 (the largest); what a step needs grows with it, then stays."""
# looks like: growth of activations, last batch and the moving window of the 6 last batches (all of 64 from step 17; `hard` keeps one batch more, of 64 from step 20)
# library: torch only
# /// healthy
# dumps = "steps"
# ///
from collections import deque

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=90)
window = deque(maxlen=6)
for step in range(1, 81):
    size = 16 if step < 6 else 32 if step < 12 else 64
    x, y = torch.rand(size, 3, 32, 32), torch.randint(10, (size,))
    losses = nn.functional.cross_entropy(net(x), y, reduction="none")
    optimizer.zero_grad()
    losses.mean().backward()
    optimizer.step()
    scheduler.step()
    window.append((x, losses.detach()))
    if step % 10 == 0:
        hard = max(((l.max().item(), xs[l.argmax()]) for xs, l in window), key=lambda p: p[0])
print(round(hard[0], 3), tuple(hard[1].shape))
