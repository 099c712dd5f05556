"""torch.optim.swa_utils: weight averaging begins at step 25 (one copy of the weights), its schedule too; batch statistics are renewed at step 50."""
# bytes: once, at step 25: (64*256+256 + 2*256+8 + 256*8+8)*4 = 77 KB; 0 a step
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 8))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
plain = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=40)
averaged = None
late = None
fresh = [torch.randn(64, 64) for _ in range(4)]


def train_step():
    x = torch.randn(64, 64)
    y = x[:, :8].argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for step in range(1, 67):
    value = train_step()
    if step >= 25:
        if averaged is None:
            averaged = AveragedModel(model)
            late = SWALR(opt, swa_lr=0.01, anneal_epochs=5)
        averaged.update_parameters(model)
        late.step()
    else:
        plain.step()
    if step == 50:
        update_bn(fresh, averaged)
print("loss", value, "averaged", int(averaged.n_averaged))
