"""AUROC of the whole training that is never reset."""
# kind: metric object that keeps all inputs, with torcheval
# after: torcheval issue kind "memory of AUROC grows, update() keeps all inputs"
# fix: auroc.reset() after the report of each epoch (10 steps) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["auroc.inputs", "auroc.targets", "auroc.weights"]
# lines = ["scores = torch.sigmoid(logits)", "yield x, (x[:, 0] > 0).float()", "auroc.update(scores.detach(), y)"]  # inputs, targets, and weights, which torcheval makes (ones_like)
# bytes = 16384  # inputs 1024x4 = 4096 (sigmoid output, detached) + targets 1024x4 = 4096 + weights (torcheval's ones_like, double) 1024x8 = 8192: 16384; measured, bytes a step in 20..40, 40..60: tensors that gc sees 16384,16384, malloc in use 23224,17888, rss 29491,24780; with FIX: malloc 5875,218, rss 10240,819
# ///
import os
import torch
from torch import nn
from torcheval.metrics import BinaryAUROC

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), 1e-3)
auroc = BinaryAUROC()


def batches(n):
    for _ in range(n):
        x = torch.randn(1024, 32)
        yield x, (x[:, 0] > 0).float()


for epoch in range(7):
    for x, y in batches(10):
        opt.zero_grad()
        logits = model(x).squeeze(1)
        scores = torch.sigmoid(logits)
        loss = nn.functional.binary_cross_entropy(scores, y)
        loss.backward()
        opt.step()
        auroc.update(scores.detach(), y)
    print("epoch", epoch, "auroc", float(auroc.compute()))
    if os.environ.get("FIX"):
        auroc.reset()
