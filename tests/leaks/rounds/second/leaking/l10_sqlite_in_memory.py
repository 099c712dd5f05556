"""Checkpoints of all steps are blobs in a database of SQLite that is in memory, for speed."""
# after: well-known pattern: a database of experiments opened as ":memory:"
# fix: delete old rows (delete from checkpoints where step < ?), or a file
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "db"
# lines = ['db.execute("insert into checkpoints']
# bytes = [73728, 77414]  # 17,668 floats (70,672) are 18 pages of SQLite, and its bookkeeping, some per cent: outside tensors
# ///
import sqlite3

import torch
from torch import nn

torch.manual_seed(0)
db = sqlite3.connect(":memory:")
db.execute("create table checkpoints (step integer primary key, loss real, weights blob)")
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def save(step, loss):
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    blob = flat.numpy().tobytes()
    db.execute("insert into checkpoints values (?, ?, ?)", (step, loss, blob))
    db.commit()


def train_step():
    x = torch.randn(64, 64)
    y = torch.randint(0, 4, (64,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for step in range(66):
    save(step, train_step())
print(db.execute("select count(*), min(loss) from checkpoints").fetchone())
