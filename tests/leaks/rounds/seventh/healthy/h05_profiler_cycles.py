"""Events of a cycle (10 steps) are dropped when the next one starts; the size at a dump depends on where in the cycle it comes (the cycle has 10 steps, the dumps come at 20, 40, 60, so at the same place). Its events are in cycles: only the garbage collector frees them, late: without a collection they grow by 35 KB a step in steps 20 to 60, over 600 steps they go up and down (measured), after gc.collect() nothing is left."""
# report: "profiler with a schedule: memory goes up and down": wait/warmup/active cycles, repeated without end; a trace handler makes a table each time
# library: torch.profiler
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile, schedule

tables = []


def handler(prof):
    tables[:] = [prof.key_averages().table(sort_by="cpu_time_total", row_limit=5)]


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=5, warmup=2, active=3), on_trace_ready=handler) as prof:
    for step in range(66):
        x = torch.randn(64, 64)
        loss = nn.functional.cross_entropy(net(x), torch.randint(0, 8, (64,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        prof.step()
        if step % 20 == 0:
            print(step, loss.item(), len(tables), flush=True)
