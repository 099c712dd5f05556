"""A report object keeps the models of all trials, with torchinfo."""
# after: "torchinfo.summary(): ModelStatistics keeps the model alive" (torchinfo issue about references to modules in LayerInfo)
# fix: keep str(stats) only (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "table"  # `table` (dict trial -> ModelStatistics; summary_list[*].module)
# lines = ["return nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Lin"]
# bytes = 83460  # 20,865 x 4 = 83,460 bytes (81.5 KiB) of parameters (measured); 114.5 KiB allocated bytes with the Python objects
# ///
import os

import torch
import torch.nn as nn
from torchinfo import summary

from ask import at

torch.manual_seed(0)
x, y = torch.randn(64, 32), torch.randn(64, 1)
table = {}


def build(width):
    return nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def fit(model):
    opt_lr = 0.01
    for _ in range(3):
        loss = nn.functional.mse_loss(model(x), y)
        grads = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), grads):
                p -= opt_lr * g
    return loss.item()


for i in range(1, 71):
    model = build(128)
    stats = summary(model, input_size=(64, 32), verbose=0)
    score = fit(model)
    table[i] = (score, str(stats) if os.environ.get("FIX") else stats)
    at(i)
print(min(t[0] for t in table.values()))
