"""One copy of the model from the start; update_parameters changes it in place; SWALR holds numbers."""
# report: "AveragedModel doubles my memory and grows": one copy, updated in place
# looks like: averaging in every second step, batch-norm statistics updated now and then
# library: torch.optim.swa_utils
# /// healthy
# dumps = "steps"
# ///
import torch
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.BatchNorm1d(128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
averaged = AveragedModel(net)
scheduler = SWALR(opt, swa_lr=0.01, anneal_epochs=10)
for step in range(70):
    x = torch.randn(64, 64)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step()
    if step % 2:
        averaged.update_parameters(net)
    if step % 15 == 14:
        update_bn([torch.randn(64, 64) for _ in range(3)], averaged)
print(averaged.n_averaged.item(), scheduler.get_last_lr())
