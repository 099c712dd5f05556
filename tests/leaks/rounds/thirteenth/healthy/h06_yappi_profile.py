"""A record for each function, not for each call; all functions were called by step 20."""
# about: The profiler yappi runs over the training.
# kind: profiler of functions
# looks like: a profiler that runs for ever
# library: yappi
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 3836,88, rss 27648,2252
# /// healthy
# dumps = "steps"
# ///
import torch
import yappi
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
opt = torch.optim.Adam(model.parameters(), 1e-3)
yappi.start()


def step_once(x):
    loss = nn.functional.cross_entropy(model(x), x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for step in range(1, 71):
    value = step_once(torch.randn(256, 64))
    if step % 10 == 0:
        stats = yappi.get_func_stats()
        print(step, value, "functions", len(stats))
yappi.stop()
