"""A retrieval trainer that writes its embeddings into a document database in memory, a new document each time."""
# kind: Document database in memory; dict of a library; tensors, with tinydb.
# after: "TinyDB in memory grows on every insert although I update the same item"
# fix: `upsert` on the item instead of `insert` (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "storage.memory['_default']"  # `index.db.storage.memory['_default']` (dict: id -> document)
# lines = ["{\"item\": i, \"step\": step, \"vector\": v.detach().clone()}"]
# bytes = 16384  # 64 documents of 64 float32 = 64 x 256 = 16384 a step (one storage each, `.clone()`); measured 16.0 KiB of storages (malloc in use: 42 KiB with the tensor objects and documents)
# ///
import os

import torch
from tinydb import TinyDB
from tinydb.storages import MemoryStorage
from tinydb.table import Document
from torch import nn

ITEMS = 64


class Index:
    def __init__(self):
        self.db = TinyDB(storage=MemoryStorage)

    def put(self, step, items, vectors):
        if os.environ.get("FIX"):
            for i, v in zip(items, vectors):
                self.db.upsert(Document({"item": i, "step": step, "vector": v.detach().clone()}, doc_id=i + 1))
            return
        self.db.insert_multiple(
            {"item": i, "step": step, "vector": v.detach().clone()}
            for i, v in zip(items, vectors))

    def size(self):
        return len(self.db)


def main():
    torch.manual_seed(0)
    towers = nn.ModuleDict({"user": nn.Linear(48, 64), "item": nn.Embedding(ITEMS, 64)})
    opt = torch.optim.Adagrad(towers.parameters(), lr=0.05)
    index = Index()
    for step in range(1, 81):
        users = towers["user"](torch.randn(256, 48))
        items = towers["item"](torch.arange(ITEMS))
        target = torch.randint(ITEMS, (256,))
        loss = nn.functional.cross_entropy(users @ items.T, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        index.put(step, range(ITEMS), items)
    print("documents", index.size(), loss.item())


if __name__ == "__main__":
    main()
