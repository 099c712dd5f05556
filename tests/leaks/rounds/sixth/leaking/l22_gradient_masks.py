"""Hooks of a parameter, with torchvision (ops.MLP)."""
# after: "memory grows and training gets slower": a hook on a parameter is registered in each step, to mask gradients of pruned weights
# fix: handle.remove() after the step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ["w._backward_hooks", "mlp.0.weight._backward_hooks"]  # w._backward_hooks (w is mlp[0].weight: mlp.0.weight._backward_hooks[*], closures with mask)
# lines = ["mask = (w.detach().abs() > 0.01).float()"]
# bytes = 32768  # mask 128*64*4
# ///
import os
import torch
from torch import nn
from torchvision.ops import MLP

torch.manual_seed(0)
mlp = MLP(64, [128, 10])
opt = torch.optim.SGD(mlp.parameters(), lr=0.05)
for step in range(64):
    w = mlp[0].weight
    mask = (w.detach().abs() > 0.01).float()
    handle = w.register_hook(lambda grad, mask=mask: grad * mask)
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
    loss = nn.functional.cross_entropy(mlp(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX"):
        handle.remove()
