"""Hooks registered again and again, each closure keeps a copy, with torch.optim."""
# after: forum "register_step_post_hook in the loop: slower and larger with each step"
# fix: handle.remove() after the step (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "_optimizer_step_post_hooks"  # `opt._optimizer_step_post_hooks` (OrderedDict of closures; cell `before`)
# lines = ["before = weight.detach().clone()"]
# bytes = 30720  # 120 x 64 x 4 = 30720 a step; measured 30720 30720 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch

torch.manual_seed(0)
net = torch.nn.Linear(64, 120, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
update_norm = {}


def watch_update(weight, name):
    before = weight.detach().clone()  # LEAK

    def hook(optimizer, args, kwargs):
        update_norm[name] = (weight.detach() - before).norm().item()

    return opt.register_step_post_hook(hook)


for step in range(70):
    handle = watch_update(net.weight, "weight")
    x = torch.randn(32, 64)
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if os.environ.get("FIX"):
        handle.remove()
print(update_norm)
