"""Text in a child process, with torch.utils.data (2 workers, persistent)."""
# after: "DataLoader worker memory grows: IterableDataset deduplicates with a set" (PyTorch issue 13246's relatives)
# fix: keep 64-bit hashes of the last 1000 lines in a deque (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["child-processes", "process-memory", "container", "module-cache"]
# holder = "dataset.seen"  # in each worker: `dataset.seen` (set of str) of the worker's copy of the dataset
# lines = []
# bytes = 65568  # 32 x 2049 = 64 KiB, in both workers together (rss of the children: 68 KiB measured), outside of tensors
# ///
import os
import random
from collections import deque

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __init__(self):
        self.seen = deque(maxlen=1000) if os.environ.get("FIX") else set()

    def __iter__(self):
        info = get_worker_info()
        rng = random.Random(info.id)
        while True:
            line = "".join(rng.choices("abcdefghij ", k=2000))
            if os.environ.get("FIX"):
                if hash(line) in self.seen:
                    continue
                self.seen.append(hash(line))
            else:
                if line in self.seen:
                    continue
                self.seen.add(line)
            yield torch.tensor([ord(c) % 32 for c in line[:100]])


if __name__ == "__main__":
    torch.manual_seed(0)
    emb, out = nn.Embedding(32, 16), nn.Linear(16, 32)
    opt = torch.optim.Adam([*emb.parameters(), *out.parameters()])
    loader = DataLoader(Lines(), batch_size=32, num_workers=2, prefetch_factor=2)
    for step, ids in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(out(emb(ids[:, :-1])).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step == 70:
            break
    print(loss.item())
