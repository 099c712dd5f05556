"""optimizer.state, keys are old parameters that are in no param_group."""
# after: densification puts new parameters in and leaves the old in optimizer.state (Gaussian splatting)
# fix: del optimizer.state[old] (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["gone-parameters", "container", "module-cache"]
# holder = ["optimizer.state", "Adam"]  # optimizer.state[old]
# lines = ["new = nn.Parameter(tensor)", "optimizer.state[new] = {k: v.clone() if k == \"step\" else tor", "loss.backward()", "points = replace(optimizer.param_groups[0], points[more])", "features = replace(optimizer.param_groups[1], features[more]"]  # correction: the header said the first one, which allocates nothing; the others as it says of the bytes
# bytes = 264004  # 264,004 a step measured (every 2nd step 528,008: old parameter, its gradient, exp_avg, exp_avg_sq of 3000x(3+8)x4 = 132,000 each, + 8): parameter from points[more]/features[more] (`points = replace(`), gradient from backward, moments from torch.zeros_like; malloc 267,000
# ///
import os
import torch
from torch import nn

torch.manual_seed(0)
points = nn.Parameter(torch.randn(3000, 3))
features = nn.Parameter(torch.randn(3000, 8))
optimizer = torch.optim.Adam([{"params": [points], "name": "xyz"}, {"params": [features], "name": "f"}], lr=1e-2)


def replace(group, tensor):
    """Puts a pruned and densified tensor in place of a parameter."""
    old = group["params"][0]
    stored = optimizer.state.get(old)
    new = nn.Parameter(tensor)
    group["params"][0] = new
    if os.environ.get("FIX"):
        del optimizer.state[old]
    if stored is not None:
        optimizer.state[new] = {k: v.clone() if k == "step" else torch.zeros_like(tensor) for k, v in stored.items()}
    return new


target = torch.randn(3000, 3)
for step in range(1, 151):
    loss = (points - target).pow(2).mean() + features.sigmoid().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        keep = torch.randperm(3000)[:2900]
        with torch.no_grad():
            more = torch.cat([keep, keep[:100]])
            points = replace(optimizer.param_groups[0], points[more])
            features = replace(optimizer.param_groups[1], features[more])
print(loss.item(), len(optimizer.state))
