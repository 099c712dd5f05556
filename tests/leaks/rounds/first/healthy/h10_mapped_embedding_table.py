"""torch.from_file(shared=True): embedding table in a mapped file, rows are read and written as they are needed."""
# bytes a step: 0 allocated; mapped file pages become resident (8192*512*4 = 16 MiB at most), reclaimable
# /// healthy
# dumps = "steps"
# ///
import os
import tempfile
import torch
from torch import nn

torch.manual_seed(0)
ROWS, DIM = 8192, 512
path = os.path.join(tempfile.mkdtemp(), "table.bin")
with open(path, "wb") as f:
    f.truncate(ROWS * DIM * 4)
table = torch.from_file(path, shared=True, size=ROWS * DIM, dtype=torch.float32).view(ROWS, DIM)
head = nn.Linear(DIM, 4)
opt = torch.optim.SGD(head.parameters(), lr=0.01)
for step in range(66):
    rows = torch.arange(step * 120, (step + 1) * 120) % ROWS
    emb = table[rows] + 0.01 * torch.randn(120, DIM)
    loss = nn.functional.cross_entropy(head(emb), rows % 4)
    opt.zero_grad()
    loss.backward()
    opt.step()
    table[rows] = emb
print("loss", loss.item())
os.remove(path)
