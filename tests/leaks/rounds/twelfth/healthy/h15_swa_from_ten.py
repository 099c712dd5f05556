"""One averaged copy, updated in place in each later step; update_bn at 35 leaves nothing."""
# report: "memory doubles when SWA starts" (AveragedModel made at step 10, SWALR)
# library: torch.optim.swa_utils
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 32))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
swa = sched = None
for step in range(1, 71):
    x = torch.randn(64, 32)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 10:
        swa, sched = AveragedModel(net), SWALR(opt, swa_lr=0.01, anneal_epochs=10)
    if step > 10:
        swa.update_parameters(net)
        sched.step()
    if step == 35:
        update_bn([torch.randn(64, 32) for _ in range(5)], swa)
print(loss.item(), int(swa.n_averaged))
