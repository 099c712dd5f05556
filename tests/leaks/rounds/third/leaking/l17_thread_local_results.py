"""Each thread of a pool keeps a dict of all requests that it served."""
# after: Stack Overflow: threading.local in a ThreadPoolExecutor is never cleared
# fix: local.served.clear() at the end of serve (or keep only the last result)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "local.served"
# lines = ["hidden = torch.nn.functional.relu("]
# bytes = 98304  # 3 requests a step x 32 x 256 floats
# ///
import threading
from concurrent.futures import ThreadPoolExecutor
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

local = threading.local()
weight = torch.randn(64, 256)


def serve(request, x):
    if not hasattr(local, "served"):
        local.served = {}
    with torch.no_grad():
        hidden = torch.nn.functional.relu(x @ weight)
    local.served[request] = hidden          # in case the client asks again
    return hidden.mean().item()


total, request = 0.0, 0
with ThreadPoolExecutor(3) as pool:
    for step in range(1, 67):
        futures = []
        for _ in range(3):
            futures.append(pool.submit(serve, request, torch.randn(32, 64)))
            request += 1
        total += sum(f.result() for f in futures)
        at(step)
print(round(total, 3))
