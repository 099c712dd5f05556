"""Gradients accumulated over 4 micro batches of random size and the sum of their losses (a graph) is kept until the optimizer's step, then dropped. The size of the batch changes; nothing is kept over a step."""
# library: segmentation-models-pytorch
# /// healthy
# dumps = "steps"
# ///
import random
import torch
from segmentation_models_pytorch.losses import DiceLoss, FocalLoss
from torch import nn

random.seed(0)
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
dice, focal = DiceLoss("binary"), FocalLoss("binary")
log = []
for step in range(1, 101):
    total, micro = 0.0, []
    for _ in range(4):
        n, side = random.randint(1, 4), random.choice([24, 32, 40])
        x = torch.rand(n, 3, side, side)
        y = (x[:, :1] > 0.5).float()
        out = model(x)
        micro.append(dice(out, y) + focal(out, y))
        total = total + micro[-1] / 4
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    log.append(total.item())
print(log[0], log[-1])
