"""Saved states (model and optimizer) of a library's objects in a list, with torch-lr-finder."""
# after: "torch-lr-finder: memory not released after range_test": a finder for each trial, in memory, kept for the plot at the end
# fix: keep finder.history only
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "finders"  # finders (list) -> [i].state_cacher.cached['model'], ['optimizer'] (deep copies). The model and optimizer themselves are shared
# lines = ["finder = LRFinder(model, optimizer, criterion, device=\"cpu\")"]
# bytes = 17925  # 17925 (averaged; 71700 a trial) (a trial is 4 optimizer steps; a copy of the model: (64*256+256+256*5+5) float32; SGD without momentum has no state)
# ///
import os
import warnings

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torch_lr_finder import LRFinder

warnings.filterwarnings("ignore")
os.environ["TQDM_DISABLE"] = "1"
torch.manual_seed(0)
data = TensorDataset(torch.randn(512, 64), torch.randint(5, (512,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
finders, curves = [], []
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 5))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)

for trial in range(22):
    for group in optimizer.param_groups:
        group["weight_decay"] = 10.0 ** -(trial % 6)
        group["lr"] = 1e-5
        group.pop("initial_lr", None)
    finder = LRFinder(model, optimizer, criterion, device="cpu")
    finder.range_test(loader, end_lr=1, num_iter=4)
    curves.append(finder.history["loss"])
    finder.reset()
    if not os.environ.get("FIX"):
        finders.append(finder)
print("trials", len(curves), "best", min(min(c) for c in curves))
