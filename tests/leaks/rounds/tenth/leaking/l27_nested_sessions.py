"""A log of ragged batches (nested tensors) for "hard example mining" that nobody ever mines."""
# kind: Nested tensors in a class attribute (shared by all instances), with torch.nested.
# after: "nested_tensor jagged list of batches grows" / history of hard examples
# fix: sort by loss and keep the worst 5 (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "Miner.pool"  # `Miner.pool` (class attribute, list of (loss, nested tensor))
# lines = ["batch = torch.nested.nested_tensor(sequences, layout=torch.j"]
# bytes = 45363  # 16 sequences of 10 to 50 rows x 24 float32, on average 16 x 30 x 96 = 46080, plus offsets 17 x 8 = 136 a step; measured 43.9 and 44.7 KiB
# ///
import os
import random

import torch
from torch import nn


class Miner:
    pool = []

    def offer(self, loss, batch):
        self.pool.append((loss, batch))
        if os.environ.get("FIX"):
            self.pool.sort(key=lambda e: -e[0])
            del self.pool[5:]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(24, 32)
        self.head = nn.Linear(32, 3)

    def forward(self, nt):
        rows = torch.relu(self.proj(nt.values()))
        sums = torch.stack([r.mean(0) for r in rows.split(nt.offsets().diff().tolist())])
        return self.head(sums)


def main():
    torch.manual_seed(0)
    rng = random.Random(5)
    model, miner = Encoder(), Miner()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, 91):
        sequences = [torch.randn(rng.randint(10, 50), 24) for _ in range(16)]
        batch = torch.nested.nested_tensor(sequences, layout=torch.jagged)
        loss = nn.functional.cross_entropy(model(batch), torch.randint(3, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        miner.offer(loss.item(), batch)
    print(len(Miner.pool), loss.item())


if __name__ == "__main__":
    main()
