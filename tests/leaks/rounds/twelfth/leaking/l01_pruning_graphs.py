"""Dependency graphs kept for a report keep the grad_fn of their tracing pass, hence its saved tensors, with torch-pruning."""
# after: "memory grows when I build the DependencyGraph at every evaluation" (Torch-Pruning users, iterative pruning reports)
# fix: keep the number of channels only (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache", "process-memory"]
# holder = "reports"  # `reports` (list; each DependencyGraph's module2node[...].grad_fn)
# lines = ["dg = tp.DependencyGraph().build_dependency(model, example_in"]
# bytes = [131072, 174080]  # 128 KiB of tensors saved by the tracing pass (two relu outputs of 16x32x32x4); 170 KiB with the Python objects of the dependency graph (allocated bytes, malloc). 170 measured
# ///
import os

import torch
import torch.nn as nn
import torch_pruning as tp

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
example = torch.randn(1, 3, 32, 32)
importance = tp.importance.MagnitudeImportance(p=2)
reports = []


def prunable(step):
    dg = tp.DependencyGraph().build_dependency(model, example_inputs=example)  # the tracing pass runs inside the library
    group = dg.get_pruning_group(model[0], tp.prune_conv_out_channels, idxs=list(range(16)))
    score = importance(group)
    weakest = int(score.argmin())
    if os.environ.get("FIX"):
        reports.append((step, weakest, float(score.min())))
    else:
        reports.append((step, weakest, dg))


for step in range(1, 71):
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    prunable(step)
print("weakest channel last:", reports[-1][1])
