"""The identity map ends with each db_session; the table is on disk; SQLite's page cache is limited to 128 KiB (full at step 8)."""
# about: Results go to a database with pony, a db_session for each step.
# kind: ORM
# looks like: entities are made in every step
# library: pony
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 431,157, rss 3276,1024
# /// healthy
# dumps = "steps"
# ///
import os
import tempfile
import torch
from pony.orm import Database, Required, count, db_session
from torch import nn

torch.manual_seed(0)
db = Database()


class Result(db.Entity):
    step = Required(int)
    payload = Required(bytes)


folder = tempfile.TemporaryDirectory()
db.bind("sqlite", os.path.join(folder.name, "r.sqlite"), create_db=True)
db.generate_mapping(create_tables=True)
with db_session:
    db.execute("PRAGMA cache_size=-128")
model = nn.Linear(64, 64)
opt = torch.optim.SGD(model.parameters(), 0.05)
for step in range(1, 71):
    x = torch.randn(64, 64)
    out = model(x)
    loss = (out - x.flip(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with db_session:
        Result(step=step, payload=out.detach().numpy().tobytes())
    if step % 20 == 0:
        with db_session:
            print(step, loss.item(), count(r for r in Result))
db.disconnect()
folder.cleanup()
