"""One graph at a time (replaced every 10 steps), the model is pruned in place at 5 and 15 (it shrinks), and the optimizer is made anew then."""
# report: "each pruning round builds a new dependency graph" - the old one is released
# library: torch-pruning
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
import torch_pruning as tp

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
example = torch.randn(1, 3, 24, 24)
opt = torch.optim.Adam(model.parameters())
for i in range(1, 71):
    x, y = torch.randn(16, 3, 24, 24), torch.randint(0, 10, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 5:
        dg = tp.DependencyGraph().build_dependency(model, example_inputs=example)
        groups = len(list(dg.get_all_groups()))
    if i in (5, 15):
        dg.get_pruning_group(model[0], tp.prune_conv_out_channels, idxs=[0, 1]).prune()
        opt = torch.optim.Adam(model.parameters())
print(groups, model[0].out_channels)
