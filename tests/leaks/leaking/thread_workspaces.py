"""A thread for each connection has a workspace in a threading.local, and waits for ever for the next request of its connection."""
# pytorch/pytorch#64412: Memory leak in multi-thread inference
# pytorch/pytorch#42111: memory leak when eval with multithread environment
# /// leak
# dumps = "requests"
# kinds = ["container", "unfinished-calls"]
# holder = "state.workspace"
# lines = ["state.workspace = torch.empty("]
# bytes = 32768  # 64 x 128 floats
# ///
import queue
import sys
import threading

import torch
from torch import nn

model = nn.Linear(64, 128).eval()
state = threading.local()


@torch.no_grad()
def predict(x):
    if not hasattr(state, "workspace"):
        state.workspace = torch.empty(64, 128)
    torch.addmm(model.bias, x, model.weight.T, out=state.workspace)
    return state.workspace.argmax().item()


def serve(requests, answers):
    while True:
        requests.get()
        answers.put(predict(torch.randn(64, 64)))


for line in sys.stdin:
    requests, answers = queue.Queue(), queue.Queue()
    threading.Thread(target=serve, args=(requests, answers), daemon=True).start()
    requests.put(line)
    print(answers.get(), flush=True)
