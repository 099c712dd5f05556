"""The state is made in the first step of each parameter; the second half of the net is unfrozen at step 12, its state comes then, before step 20."""
# report: "optimizer takes 4x the model" (Prodigy/D-Adaptation: s, p0, exp_avg, exp_avg_sq)
# library: prodigyopt
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from prodigyopt import Prodigy

torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)), nn.Linear(64, 10)
body.requires_grad_(False)
opt = Prodigy([*body.parameters(), *head.parameters()], lr=1.0)
for step in range(1, 71):
    if step == 12:
        body.requires_grad_(True)
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    loss = nn.functional.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), len(opt.state))
