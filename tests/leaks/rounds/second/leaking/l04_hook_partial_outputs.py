"""A hook's handle is never removed; its list lives in a functools.partial only."""
# after: pytorch's forum: extraction of features with register_forward_hook
# fix: remove the hook (handle.remove()) after the look at the first batch
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "_forward_hooks"
# lines = ["store.append(output.detach().clone())"]
# bytes = 131072  # 64 x 512 floats: a list in the partial in model[1]._forward_hooks, without another name
# ///
from functools import partial

import torch
from torch import nn

torch.manual_seed(0)


def keep(store, module, inputs, output):
    store.append(output.detach().clone())


def watch(module):
    seen = []
    module.register_forward_hook(partial(keep, seen))
    return lambda: seen[0].std().item()


def build():
    return nn.Sequential(nn.Linear(48, 512), nn.GELU(), nn.Linear(512, 10))


model = build()
spread = watch(model[1])
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
first = None
for step in range(66):
    x = torch.randn(64, 48)
    y = torch.randint(0, 10, (64,))
    loss = nn.functional.cross_entropy(model(x), y)
    if first is None:
        first = spread()
        spread = None
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "spread of the first batch", first)
