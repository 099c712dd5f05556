"""Segments of every kind on two CUDA devices: large and small, of another stream, of a private pool, with holes, with blocks that
wait; and torch's own snapshot of them (snapshot.pickle), taken at the same moment as the dump."""
import os
import pickle

import torch

import cuda_truth

MEBIBYTE = 1 << 20


def take(mebibytes, device="cuda:0"):
    return torch.empty(mebibytes * MEBIBYTE, dtype=torch.uint8, device=device)


def holes():
    kept = [take(3) for _ in range(12)] + [take(12), take(30)]
    del kept[1:10:3]
    return kept


kept = holes()
small = [torch.empty(1000 * number, device="cuda:0") for number in range(1, 20)]
del small[3:15:2]
other = torch.cuda.Stream()
with torch.cuda.stream(other):
    on_other = take(5)
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    private = take(4)
there = take(7, "cuda:1")
pinned = torch.empty(5000, pin_memory=True)
on_cpu = [torch.ones(1000 * number) for number in range(1, 8)]
lent = take(12)
lent.record_stream(other)
del lent  # its block waits until the allocator is asked again
if folder := os.environ.get("TRUTH_DIR"):
    with open(os.path.join(folder, "snapshot.pickle"), "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)
cuda_truth.moment(kept=[tensor.data_ptr() for tensor in kept])
