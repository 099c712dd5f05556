"""torch.profiler with a schedule (wait 2, warmup 1, active 2, repeated): each cycle's events replace those of the one before; on_trace_ready reduces them to one line of text. Steps 20, 40, 60 are at the same place of the cycle."""
# library: torch.profiler
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
top = []


def ready(prof):
    top.append(max(prof.key_averages(), key=lambda e: e.self_cpu_time_total).key)


with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=2, warmup=1, active=2), on_trace_ready=ready) as prof:
    for step in range(1, 101):
        x = torch.randn(128, 64)
        loss = (model(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        prof.step()
print(len(top), top[-1])
