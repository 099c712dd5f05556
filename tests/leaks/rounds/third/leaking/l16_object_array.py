"""An array of objects has a slot for each sample, filled with tensors and never emptied."""
# after: pytorch's forum: numpy arrays of dtype object
# fix: one preallocated float array of the size that is wanted, or bank.slots[i] = None when used
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "bank.slots"
# lines = ["feats = encoder("]
# bytes = 65536  # 64 x 256 floats; the slots themselves were made at the start
# ///
import numpy as np
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


class Bank:
    def __init__(self, n):
        self.slots = np.empty(n, dtype=object)

    def put(self, i, feats):
        self.slots[i] = feats

    def similarity(self, i, feats):
        other = self.slots[i]
        return 0.0 if other is None else torch.cosine_similarity(other, feats).mean().item()


encoder = torch.nn.Linear(32, 256)
bank = Bank(4096)
order = np.random.default_rng(0).permutation(4096)
total = 0.0
for step in range(1, 67):
    with torch.no_grad():
        feats = encoder(torch.randn(64, 32))
    total += bank.similarity(order[step - 1], feats)
    bank.put(order[step], feats)
    at(step)
print(round(total, 4))
