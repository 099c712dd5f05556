"""Torch keeps each pruning method with its mask in a container, with torch.nn.utils.prune."""
# after: forum "iterative pruning with torch.nn.utils.prune: memory grows every pruning round"
# fix: prune.remove(layer, 'weight') after each round (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["_forward_pre_hooks", "_pruning_methods"]  # `net._forward_pre_hooks` -> PruningContainer._pruning_methods (net[0]._forward_pre_hooks)
# lines = ["mask = (layer.weight.detach().abs() > threshold).float()"]
# bytes = 65536  # 128 x 128 x 4 = 65536 a step; measured 65536 65536 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch
from torch.nn.utils import prune

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
opt = torch.optim.SGD(net[2].parameters(), lr=0.01)


def prune_a_bit(layer, step):
    threshold = layer.weight.detach().abs().flatten().kthvalue(1 + 20 * step).values
    mask = (layer.weight.detach().abs() > threshold).float()  # LEAK
    prune.custom_from_mask(layer, "weight", mask)
    if os.environ.get("FIX"):
        prune.remove(layer, "weight")


for step in range(70):
    prune_a_bit(net[0], step)
    x = torch.randn(32, 128)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
