"""torch.profiler with a schedule (wait 22, warm-up 1, active 2, once): its events are kept until it has been stopped, by design."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
top = []


def ready(prof):
    top.append(max(prof.key_averages(), key=lambda e: e.self_cpu_time_total).key)


with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=22, warmup=1, active=2, repeat=1), on_trace_ready=ready) as prof:
    for step in range(66):
        x, y = torch.randn(32, 64), torch.randint(0, 8, (32,))
        loss = torch.nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        prof.step()
print("profiled", len(top), "loss", round(loss.item(), 3))
