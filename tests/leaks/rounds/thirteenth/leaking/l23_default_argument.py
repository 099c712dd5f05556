"""A smoothing function with a mutable default argument."""
# kind: default argument, with torch
# after: "why does my memory grow" - def smooth(x, history=[])
# fix: del history[:-4] (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "default of smooth: history"  # smooth.__defaults__[0]
# lines = ["logits = model(x)"]  # kept through logits.detach()
# bytes = 38400  # logits 96x100x4 = 38400; measured, bytes a step in 20..40, 40..60: tensors that gc sees 38400,38400, malloc in use 39094,39012, rss 39321,40550; with FIX: malloc 420,221, rss 1024,-204
# ///
import os
import torch
from torch import nn

torch.manual_seed(0)


def smooth(logits, history=[]):  # noqa: B006 - as it was run
    history.append(logits)
    if os.environ.get("FIX"):
        del history[:-4]
    return torch.stack(history[-4:]).mean(0)


model = nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 100))
opt = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(70):
    x, y = torch.randn(96, 20), torch.randint(0, 100, (96,))
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    stable = smooth(logits.detach())
    agree = (stable.argmax(1) == y).float().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), agree.item())
