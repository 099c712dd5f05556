"""SWA starts at step 24 (a copy of the model appears then, once); update_bn every 8 steps over 4 batches; best checkpoint in memory is replaced."""
# looks like: new long-lived tensors between the first and second dump (one copy of the model), none after
# library: torch.optim.swa_utils
# /// healthy
# dumps = "steps"
# ///
import copy
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
swa, best, best_loss = None, None, 1e9
val = [torch.randn(128, 64) for _ in range(4)]
for step in range(1, 67):
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 24:
        swa, sched = AveragedModel(net), SWALR(opt, swa_lr=0.05)
    if step > 24:
        swa.update_parameters(net)
        sched.step()
        if step % 8 == 0:
            update_bn(val, swa)
    if step % 4 == 0 and loss.item() < best_loss:
        best_loss, best = loss.item(), copy.deepcopy(net.state_dict())
print(best_loss, len(best))
