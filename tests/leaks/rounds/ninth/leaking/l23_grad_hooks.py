"""Hooks that are registered again in each step; each closure has the batch's data, with autograd hooks."""
# after: "I register a post-accumulate-grad hook in the loop to rescale by the sample weights: slower and slower, RAM grows"
# fix: handle.remove() after the step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "_post_accumulate_grad_hooks"  # model[0].weight._post_accumulate_grad_hooks (OrderedDict of closures; cell `weights`)
# lines = ["importance = torch.rand(256, 64)"]
# bytes = 65536  # 256*64*4 = 64 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 64.0, 64.0; all malloc'd 65.7, 65.3 (with FIX: 0.0, 0.0; 0.8, 0.1)
# ///
import os
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))
opt = torch.optim.SGD(model.parameters(), lr=0.05)


def rescale(weights):
    def hook(param):
        param.grad.mul_(0.9 + 0.1 * weights.mean())
    return hook


for step in range(1, 101):
    x = torch.randn(64, 64)
    importance = torch.rand(256, 64)
    handle = model[0].weight.register_post_accumulate_grad_hook(rescale(importance))
    loss = nn.functional.cross_entropy(model(x), x[:, :8].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX"):
        handle.remove()
    if step % 25 == 0:
        print(step, round(loss.item(), 4), flush=True)
