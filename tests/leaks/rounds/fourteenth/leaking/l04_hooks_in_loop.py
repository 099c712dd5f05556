"""Hooks accumulate on a module, each with a closure list; every hook appends every later output; torch only."""
# after: register_forward_hook inside the extraction function, handle never removed
# fix: handle.remove() (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "_forward_hooks"  # backbone[0]._forward_hooks (closures: feats). All hooks hold the newest outputs, so clearing one closure frees nearly nothing; removing the hooks frees all
# lines = ["logits = head(backbone(images).mean((2, 3)))"]
# bytes = [65536, 75800]  # 65,536 storages (4x16x16x16x4), shared by all hooks that are older; plus list slots of 8 B x number of hooks; measured 65,536 of storages; malloc 72,200 to 75,800 and rising
# ///
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU()).eval()
head = nn.Linear(32, 10)


def extract(images, layer):
    """Features of an intermediate layer, the way it is told in many forum answers."""
    feats = []

    def hook(module, args, output):
        feats.append(output.detach())

    handle = layer.register_forward_hook(hook)
    with torch.no_grad():
        logits = head(backbone(images).mean((2, 3)))
    result = feats[-1].mean((2, 3))
    if os.environ.get("FIX"):
        handle.remove()
    return logits, result


total = torch.zeros(16)
for i in range(1, 401):
    logits, feature = extract(torch.rand(4, 3, 32, 32), backbone[0])
    total += feature.mean(0)
    at(i)
print(total.mean().item())
