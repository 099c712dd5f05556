"""auroc.reset() every 7 steps: at most 7 batches are kept."""
# about: AUROC of each window of 7 steps, reset after it.
# kind: metric
# looks like: lists of the metric grow between two dumps (20, 40, 60 fall at other places of the window: 5 or 6, 4 or 5, 3 or 4 batches)
# library: torcheval
# measured: bytes a step in 20..40, 40..60: tensors that gc sees -1638,-1638, malloc in use -1386,-1531, rss -1024,-819
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torcheval.metrics import BinaryAUROC

torch.manual_seed(0)
model = nn.Linear(32, 1)
opt = torch.optim.Adam(model.parameters(), 1e-2)
auroc = BinaryAUROC()
for step in range(1, 71):
    x = torch.randn(2048, 32)
    y = (x[:, 0] > 0).float()
    logits = model(x).squeeze(1)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    auroc.update(logits.detach().sigmoid(), y)
    if step % 7 == 0:
        print(step, "auroc", float(auroc.compute()))
        auroc.reset()
