"""A hook is registered on a parameter in each step and never removed."""
# after: pytorch's forum: register_hook in the training loop
# fix: handle = ...register_hook(...); handle.remove() after backward
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "model.weight._backward_hooks"
# lines = ["out = model(x).relu()"]
# bytes = 65536  # 256 x 64 floats: `acts` of the hook's closure
# ///
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(32, 64)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
ratio = {}


def watch(weight, acts):
    def hook(grad):
        ratio["last"] = (grad.norm() / (acts.norm() + 1e-6)).item()

    weight.register_hook(hook)


def train_step():
    x = torch.randn(256, 32)
    out = model(x).relu()
    watch(model.weight, out.detach())
    loss = (out - 1).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for step in range(66):
    value = train_step()
print("loss", value, ratio)
