"""Outside tensors: events in C++ (kineto), malloc."""
# after: torch.profiler started without a schedule for the whole run
# fix: schedule=schedule(wait=3, warmup=1, active=2) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = ["prof.", "prof ("]  # prof (stop it; no Python object holds the events)
# lines = []
# bytes = 544500  # 543,000 to 546,000 malloc measured (no storages of tensors); rss 707,000 to 754,000 while chunks are spread
# ///
import os
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU()) for _ in range(6)])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
plan = schedule(wait=3, warmup=1, active=2) if os.environ.get("FIX") else None
prof = profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True)
prof.start()
for step in range(1, 101):
    x = torch.randn(64, 64)
    loss = (model(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    prof.step()
print(loss.item())
os._exit(0)  # the job is killed in practice; stop() would work through all events
