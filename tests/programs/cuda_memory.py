"""The CUDA allocator's harder moments: blocks that another stream still uses, a full device, a cache that is emptied, threads."""
import threading

import torch

import cuda_truth

kept = torch.empty(1 << 20, device="cuda")
other = torch.cuda.Stream()
lent = torch.empty(1 << 20, device="cuda")
with torch.cuda.stream(other):
    lent.record_stream(other)
    on_other = torch.zeros(100, device="cuda")
del lent  # its block stays busy until the other stream's work is done
cuda_truth.moment("streams")

failed = 0
for attempt in range(100):
    try:
        torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    except torch.OutOfMemoryError:
        failed += 1
print(failed)
cuda_truth.moment("full")

torch.cuda.empty_cache()
cuda_truth.moment("emptied")

results = []


def work(number):
    for step in range(200):
        some = [torch.empty(1000 * (number + 1), device="cuda") for _ in range(5)]
    results.append(some[0])


threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
cuda_truth.moment("threads")
