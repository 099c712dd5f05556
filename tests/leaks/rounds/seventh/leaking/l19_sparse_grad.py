"""Gradient that grows (uncoalesced sparse tensor), with torch.sparse."""
# after: issue "Embedding(sparse=True): grad grows": a table that is not in the optimizer never gets zero_grad, its sparse gradient gets longer each step
# fix: table.weight.requires_grad_(False) (or table.zero_grad())
# /// leak
# dumps = "steps"
# kinds = ["larger-tensor", "container", "module-cache"]
# holder = "table.weight.grad"
# lines = ["loss.backward()", "vectors = table(ids)"]
# bytes = 36864  # 512 rows: 16 float32 and one int64; storages of indices and values
# ///
import os

import torch
import torch.nn as nn

torch.manual_seed(0)
table = nn.Embedding(20000, 16, sparse=True)  # pretrained, "frozen" by leaving it out of the optimizer
if os.environ.get("FIX"):
    table.weight.requires_grad_(False)
tower = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(tower.parameters(), lr=0.1)
for step in range(70):
    ids = torch.randint(0, 20000, (32, 16))
    labels = (ids.sum(1, keepdim=True) % 2).float()
    vectors = table(ids)
    loss = nn.functional.binary_cross_entropy_with_logits(tower(vectors.mean(1)), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
