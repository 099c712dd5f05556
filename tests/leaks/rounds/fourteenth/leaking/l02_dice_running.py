"""Autograd graph chained by additions; segmentation-models-pytorch losses."""
# after: running dice with a tensor sum (AverageMeter without .item())
# fix: meter.update(probe.item(), 2) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "meter.sum"
# lines = ["probe = criterion(model(images[:2].flip(-1)), masks[:2].flip"]  # forward() of the model makes nearly as much, called from there
# bytes = 360500  # 360,500 measured: all storages the kept graph saves (327 of 360 KB by tensors alone that Python sees, the rest as saved tensors, e.g. images.flip 2x3x64x64x4 = 98,304); malloc 387,600 (upper end)
# ///
import os
import torch
from torch import nn
from segmentation_models_pytorch.losses import DiceLoss

torch.manual_seed(0)


class TinySeg(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 1, 2, stride=2)

    def forward(self, x):
        return self.up(torch.relu(self.mid(torch.relu(self.down(x)))))


class AverageMeter:
    def __init__(self):
        self.sum, self.count, self.best = 0.0, 0, float("inf")

    def update(self, value, n=1):
        self.sum = self.sum + value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


model = TinySeg()
criterion = DiceLoss(mode="binary")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
meter = AverageMeter()
for step in range(1, 161):
    images = torch.rand(4, 3, 64, 64)
    masks = (images.mean(1, keepdim=True) > 0.5).float()
    optimizer.zero_grad()
    loss = criterion(model(images), masks)
    loss.backward()
    optimizer.step()
    probe = criterion(model(images[:2].flip(-1)), masks[:2].flip(-1))  # consistency under a flip
    meter.update(probe.item() if os.environ.get("FIX") else probe, 2)
    if step % 40 == 0:
        print(f"{step} flip dice {float(meter.avg):.4f}")
