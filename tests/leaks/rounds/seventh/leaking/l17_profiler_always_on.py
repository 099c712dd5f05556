"""Profiler's events in C++, outside tensors, with torch.profiler."""
# after: issue "torch.profiler leaks when it is left on": profile() without a schedule around the whole training
# fix: schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1) with prof.step()
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = ["prof.", "prof ("]  # prof (torch.profiler.profile that is never stopped; its events are in C++, no Python path beyond `prof`)
# lines = []
# bytes = 1414000  # malloc in use: 1,418,796 and 1,409,634; rss 1,520,000
# ///
import os
import time

import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0), 3, enable_nested_tensor=False)
head = nn.Linear(32, 5)
opt = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-3, foreach=False)
plan = schedule(wait=1, warmup=1, active=2, repeat=1) if os.environ.get("FIX") else None
prof = profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True)
prof.start()
for step in range(66):
    x = torch.randn(8, 16, 32)
    loss = nn.functional.cross_entropy(head(model(x).mean(1)), torch.randint(0, 5, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if plan:
        prof.step()
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
