"""Frames in a list; their local variables stay, with Python's inspect."""
# after: "debug helper keeps inspect.currentframe().f_back of each call, everything the function had stays alive"
# fix: keep the name of the function and the line number, not the frame
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "visits"  # visits (list of frames: f_locals x, hidden, out)
# lines = ["hidden = torch.relu(first(x))", "x = torch.randn(64, 128)"]
# bytes = 84480  # x 64*128*4 = 32 KiB, hidden 64*200*4 = 50 KiB, out 64*2*4: 82.5 KiB of tensors a step (under no_grad); measured KiB a step (20 to 40, 40 to 60): storages of tensors 82.5, 82.5; all malloc'd 85.6, 85.7 (with FIX: 0.0, 0.0; 0.6, 0.2)
# ///
import inspect
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
first, last = nn.Linear(128, 200), nn.Linear(200, 2)
visits = []


def trace_visit():
    frame = inspect.currentframe().f_back
    if os.environ.get("FIX"):
        visits.append((frame.f_code.co_name, frame.f_lineno))
    else:
        visits.append(frame)


@torch.no_grad()
def score(step):
    x = torch.randn(64, 128)
    for _ in range(10):
        hidden = torch.relu(first(x))
    out = last(hidden)
    trace_visit()
    return out.softmax(-1).mean().item()


for step in range(1, 121):
    s = score(step)
    if step % 40 == 0:
        print(step, round(s, 4), len(visits), flush=True)
    at(step)
