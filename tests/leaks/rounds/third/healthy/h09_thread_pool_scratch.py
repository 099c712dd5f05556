"""ThreadPoolExecutor: threads start one by one and each keeps one scratch buffer in a threading.local, reused for every later request."""
# /// healthy
# dumps = "asks"
# ///
import threading
from concurrent.futures import ThreadPoolExecutor
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

local = threading.local()
weight = torch.randn(64, 512)


def serve(x):
    if not hasattr(local, "scratch"):
        local.scratch = torch.empty(256, 512)
    out = local.scratch[: x.shape[0]]
    torch.mm(x, weight, out=out)
    return out.relu_().mean().item()


total = 0.0
with ThreadPoolExecutor(4) as pool:
    for step in range(1, 67):
        n = 1 if step < 10 else 4
        total += sum(pool.map(serve, [torch.randn(128 + 2 * (step % 60), 64) for _ in range(n)]))
        at(step)
print(round(total, 3))
