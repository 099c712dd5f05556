"""Checkpoints written to a ZODB in memory: each commit keeps the revisions before."""
# kind: bytes of a store that keeps history, with ZODB
# after: "MappingStorage memory grows for ever, need to pack" (zodb)
# fix: db.pack() every 5 commits (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "storage._data"  # storage._data (oid -> tree of revisions); db.pack() clears
# lines = []
# bytes = 28456  # the pickled weights 64x100x4 + 64x4 + 10x64x4 + 10x4 = 28456, stored as one record a commit; measured, bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 28907,28807, rss 36659,30720; with FIX: malloc 172,339, rss 5324,-614; outside of tensors
# ///
import os
import torch
import transaction
import ZODB
from persistent.mapping import PersistentMapping
from torch import nn
from ZODB.MappingStorage import MappingStorage

torch.manual_seed(0)
storage = MappingStorage()
db = ZODB.DB(storage)
connection = db.open()
root = connection.root()
root["checkpoint"] = PersistentMapping()
transaction.commit()

net = nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), 0.05)
for step in range(1, 71):
    x = torch.randn(32, 100)
    loss = nn.functional.cross_entropy(net(x), x[:, :10].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    root["checkpoint"]["step"] = step
    root["checkpoint"]["weights"] = {k: v.numpy().tobytes() for k, v in net.state_dict().items()}
    transaction.commit()
    if os.environ.get("FIX") and step % 5 == 0:
        db.pack()
    if step % 20 == 0:
        print(step, round(loss.item(), 3), "objects", len(storage))
