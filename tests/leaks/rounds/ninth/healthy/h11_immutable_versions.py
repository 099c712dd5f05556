"""deque(maxlen=8) of immutables.Map with clones of the weights; full at step 8, then the oldest version goes in each step."""
# report: "immutable maps of weights: do versions add up?"
# kind: the last 8 versions in a deque
# library: immutables
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 1.1, 0.4
# /// healthy
# dumps = "steps"
# ///
from collections import deque
import immutables
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(48, 200), nn.ReLU(), nn.Linear(200, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
versions = deque(maxlen=8)
current = immutables.Map()
for step in range(1, 121):
    x = torch.randn(64, 48)
    loss = (model(x)[:, 0] - x.sum(1).tanh()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with current.mutate() as change:
        for name, p in model.named_parameters():
            change[name] = p.detach().clone()
        current = change.finish()
    versions.append(current)
    if step % 40 == 0:
        drift = sum((versions[0][k] - versions[-1][k]).norm().item() for k in current)
        print(step, len(versions), round(drift, 4), round(loss.item(), 4), flush=True)
