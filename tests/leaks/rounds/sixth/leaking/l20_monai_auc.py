"""Metric object, with monai (ROCAUCMetric)."""
# after: MONAI issue "memory grows during training, metric.reset() is not called after an epoch"
# fix: auc.reset() at the end of an epoch of 16 steps
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "auc._buffers"  # auc._buffers (both lists: predictions and labels)
# lines = ["y = (x[:, :16] > 0).float()", "auc(torch.sigmoid(logits.detach()), y)"]
# bytes = 16384  # (storages, 2 * 128*16*4); outside of storages 159000 more by malloc (256 view objects each step): 175575 in all
# ///
import os
import torch
from monai.metrics import ROCAUCMetric
from torch import nn

torch.manual_seed(0)
auc = ROCAUCMetric()
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(64):
    x = torch.randn(128, 32)
    y = (x[:, :16] > 0).float()
    logits = net(x)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    auc(torch.sigmoid(logits.detach()), y)
    if step % 16 == 15 and os.environ.get("FIX"):
        print(auc.aggregate())
        auc.reset()
if not os.environ.get("FIX"):
    print(auc.aggregate())
