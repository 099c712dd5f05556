"""C object (pickle memo), with pickle."""
# after: "Pickler reused for many dumps: memory never freed": one pickle.Pickler writes all samples to a file, its memo keeps each object
# fix: self.pickler.clear_memo() after dump
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "writer.pickler"  # writer.pickler.memo (C: PyMemoTable) ; Pickler.clear_memo()
# lines = ["probs = logits.softmax(1)", "self.pickler.dump(record)"]
# bytes = 25600  # 25600 in tensors; malloc in use grows by 52000 (probs 64x100 float32 = 25600 B; the other half are the pickled bytes of its storage, memoized too: outside tensors)
# ///
import os
import pickle
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(0)


class Writer:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.pickler = pickle.Pickler(self.file, protocol=5)

    def write(self, record):
        self.pickler.dump(record)
        if os.environ.get("FIX"):
            self.pickler.clear_memo()


net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 100))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with tempfile.TemporaryDirectory() as folder:
    writer = Writer(os.path.join(folder, "soft_labels.pkl"))
    for step in range(80):
        x, y = torch.randn(64, 64), torch.randint(100, (64,))
        logits = net(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            probs = logits.softmax(1)
        writer.write({"step": step, "probs": probs})
    writer.file.close()
print(round(loss.item(), 3))
