"""Job scheduler with pending jobs, with apscheduler."""
# after: APScheduler "memory leak, jobs in MemoryJobStore pile up": a delayed upload is scheduled for each step
# fix: id="upload", replace_existing=True
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["._jobs[", "_jobs_index"]  # sched._jobstores['default']._jobs and ._jobs_index (both; job.args)
# lines = ["weights = {k: v.detach().clone() for k, v in net.state_dict("]
# bytes = 49792  # 12448 floats
# ///
import os
from datetime import datetime, timedelta
import torch
from apscheduler.schedulers.background import BackgroundScheduler
from torch import nn

torch.manual_seed(0)
sched = BackgroundScheduler(timezone="UTC")
sched.start()


def upload(step, weights):
    torch.save(weights, f"/tmp/weights_{step}.pt")


net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(64):
    x = torch.randn(64, 64)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    weights = {k: v.detach().clone() for k, v in net.state_dict().items()}
    once = {"id": "upload", "replace_existing": True} if os.environ.get("FIX") else {}
    sched.add_job(upload, "date", run_date=datetime.now() + timedelta(hours=10), args=[step, weights], **once)
sched.shutdown(wait=False)
