"""Six threads of a pool each have a workspace in a threading.local, made anew when a larger batch than ever comes."""
# /// healthy
# dumps = "requests"
# ///
import concurrent.futures
import random
import sys
import threading

import torch
from torch import nn

random.seed(5)
model = nn.Linear(64, 128).eval()
state = threading.local()


@torch.no_grad()
def predict(rows):
    if getattr(state, "workspace", None) is None or state.workspace.shape[0] < rows:
        state.workspace = torch.empty(rows, 128)
    out = state.workspace[:rows]
    torch.addmm(model.bias, torch.randn(rows, 64), model.weight.T, out=out)
    return out.argmax().item()


with concurrent.futures.ThreadPoolExecutor(6) as pool:
    for line in sys.stdin:
        answers = list(pool.map(predict, [random.randint(1, 256) for _ in range(12)]))
        print(sum(answers), flush=True)
