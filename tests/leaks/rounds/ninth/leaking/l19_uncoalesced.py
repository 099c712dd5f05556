"""A sparse tensor whose number of entries grows, a larger tensor replaces a smaller one, with torch.sparse."""
# after: "adding sparse tensors: memory grows as the sum is never coalesced" (PyTorch issue of torch.sparse)
# fix: counts = (counts + new).coalesce() (bounded by the 120*120 cells)
# /// leak
# dumps = "asks"
# kinds = ["larger-tensor", "container", "module-cache"]
# holder = "counts"  # counts (sparse COO tensor: its indices and values)
# lines = ["counts = counts + new"]
# bytes = [28979, 29594]  # 1500 entries a step of 2*8 B index + 4 B value = 30,000 B = 29 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 28.9, 28.3; all malloc'd 29.8, 28.9 (with FIX: 0.8, 0.7; 1.7, 1.1); correction: 28.9 KiB a step from 20 to 40, 28.3 from 40 to 60
# ///
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
assign = nn.Linear(32, 120).eval()
counts = torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0), (120, 120))
for step in range(1, 151):
    with torch.no_grad():
        walk = torch.randn(1501, 32).cumsum(0)
        cluster = assign(walk).argmax(1)
    pairs = torch.stack([cluster[:-1], cluster[1:]])
    new = torch.sparse_coo_tensor(pairs, torch.ones(1500), (120, 120))
    counts = counts + new
    if os.environ.get("FIX"):
        counts = counts.coalesce()
    if step % 50 == 0:
        print(step, counts._nnz(), torch.sparse.sum(counts).item(), flush=True)
    at(step)
