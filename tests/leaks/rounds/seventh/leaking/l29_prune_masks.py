"""Hook of a module that grows, with torch.nn.utils.prune."""
# after: forum "iterative pruning gets slower and takes more memory": custom_from_mask in each step adds one more method to the PruningContainer
# fix: prune.remove(layer, 'weight') before (or write layer.weight_mask in place)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["_forward_pre_hooks", "_pruning_methods"]  # layer._forward_pre_hooks[..] (PruningContainer)._pruning_methods (tuple of CustomFromMask; mask)
# lines = ["return (scores >= limit).float()"]
# bytes = 49152  # 96 x 128 float32; storages
# ///
import os

import torch
import torch.nn as nn
from torch.nn.utils import prune

torch.manual_seed(0)
layer = nn.Linear(128, 96)
head = nn.Linear(96, 5)
model = nn.Sequential(layer, nn.ReLU(), head)
prune.identity(layer, "weight")
opt = torch.optim.SGD(model.parameters(), lr=0.05)


def movement_mask(grad, keep):
    scores = grad.abs()
    limit = scores.flatten().kthvalue(int(scores.numel() * (1 - keep)) + 1).values
    return (scores >= limit).float()


for step in range(66):
    x = torch.randn(64, 128)
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 5, (64,)))
    opt.zero_grad()
    loss.backward()
    mask = movement_mask(layer.weight_orig.grad, 0.95)
    if os.environ.get("FIX"):
        layer.weight_mask.copy_(mask)
    else:
        prune.custom_from_mask(layer, "weight", mask)
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), float(layer.weight_mask.mean()), flush=True)
