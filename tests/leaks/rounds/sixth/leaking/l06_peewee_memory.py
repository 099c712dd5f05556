"""Native memory of SQLite, with peewee."""
# after: "process memory grows while logging embeddings to sqlite" (database ':memory:' from a test's settings)
# fix: a file as database
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "db"  # db (the connection of SqliteDatabase(':memory:'); its table sample)
# lines = []
# bytes = 145306  # by malloc (8 blobs of 16384 = 131072 and SQLite's pages)
# ///
import os
import tempfile
import torch
from peewee import BlobField, IntegerField, Model, SqliteDatabase
from torch import nn

torch.manual_seed(0)
db = SqliteDatabase(os.path.join(tempfile.mkdtemp(), "samples.db") if os.environ.get("FIX") else ":memory:")


class Sample(Model):
    step = IntegerField(index=True)
    embedding = BlobField()

    class Meta:
        database = db


db.create_tables([Sample])
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(64):
    x = torch.randn(256, 64)
    z = net(x)
    loss = (z.std(0) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with db.atomic():
        for chunk in z.detach().split(32):
            Sample.create(step=step, embedding=chunk.numpy().tobytes())
print(Sample.select().count())
