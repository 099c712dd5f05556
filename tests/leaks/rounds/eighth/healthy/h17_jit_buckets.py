"""Dictionary of 5 traced modules (they share the parameters); the graph executor's plans come in the first calls of each bucket."""
# report: "traced models per shape fill the memory": five buckets of length, all traced by step 5
# looks like: a dict of C++ objects, warm-up of the executor
# library: torch.jit
# /// healthy
# dumps = "asks"
# ///
import torch
from ask import at

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32)).eval()
traced = {}


def run(x):
    bucket = -(-x.shape[0] // 16) * 16
    padded = torch.nn.functional.pad(x, (0, 0, 0, bucket - x.shape[0]))
    if bucket not in traced:
        traced[bucket] = torch.jit.trace(net, padded)
    return traced[bucket](padded)[: x.shape[0]]


with torch.no_grad():
    for step in range(1, 71):
        length = 16 * (step % 5) + 1 + step % 16
        out = run(torch.randn(length, 32))
        at(step)
print(len(traced), out.shape)
