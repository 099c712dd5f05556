"""NTXentLoss(memory_bank_size=(1024, 64)) has a bank of 1024 * 64 * 4 = 256 KiB that is made in the first step; new keys replace the oldest (64 a step: full after step 16)."""
# report: "MoCo memory bank: is the growth at the start of training a leak?"
# kind: memory bank of fixed size
# library: lightly
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.8, 0.3
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from lightly.loss import NTXentLoss

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(96, 128), nn.ReLU(), nn.Linear(128, 64))
criterion = NTXentLoss(temperature=0.2, memory_bank_size=(1024, 64))
opt = torch.optim.SGD(model.parameters(), lr=0.06, momentum=0.9)
for step in range(1, 101):
    x = torch.randn(64, 96)
    z0 = model(x + 0.1 * torch.randn_like(x))
    z1 = model(x + 0.1 * torch.randn_like(x))
    loss = criterion(z0, z1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, round(loss.item(), 4), flush=True)
