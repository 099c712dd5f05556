"""The values lie in a file in a temporary folder; SQLite's page cache is limited to 256 KiB, full at step 8."""
# about: Embeddings go to a file by sqlitedict, with a commit each step.
# kind: store on disk
# looks like: a dict that is only added to
# library: sqlitedict
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 372,91, rss 409,1433
# /// healthy
# dumps = "steps"
# ///
import os
import tempfile
import torch
from sqlitedict import SqliteDict
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64))
opt = torch.optim.Adam(model.parameters(), 1e-3)
with tempfile.TemporaryDirectory() as folder, SqliteDict(os.path.join(folder, "emb.sqlite")) as store:
    store.conn.execute("PRAGMA cache_size=-256")
    for step in range(1, 71):
        x = torch.randn(128, 64)
        z = model(x)
        loss = nn.functional.mse_loss(z, x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        store[str(step)] = z.detach().numpy().tobytes()
        store.commit()
        if step % 20 == 0:
            print(step, loss.item(), len(store))
