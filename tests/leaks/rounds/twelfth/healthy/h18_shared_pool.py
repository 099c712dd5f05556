"""Slots are taken from and given back to the pool; slots are made on demand, all 8 by step 8."""
# report: "shared memory of rollout buffers" (a pool of 8 shared tensors that are used in turn)
# library: torch.multiprocessing (no child)
# /// healthy
# dumps = "asks"
# ///
import torch
import torch.nn as nn

from ask import at

torch.manual_seed(0)


class Pool:
    def __init__(self, n):
        self.n, self.free, self.busy = n, [], []

    def take(self):
        if len(self.free) + len(self.busy) < self.n:
            self.free.append(torch.zeros(64, 512).share_memory_())
        if not self.free:
            self.free.append(self.busy.pop(0))
        slot = self.free.pop()
        self.busy.append(slot)
        return slot


policy = nn.Linear(128, 512).eval()
pool = Pool(8)
score = 0.0
with torch.no_grad():
    for i in range(1, 71):
        slot = pool.take()
        slot.copy_(policy(torch.randn(64, 128)))
        score += sum(s.mean().item() for s in pool.busy)
        at(i)
print(score, len(pool.busy))
