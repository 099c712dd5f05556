"""A trainer that schedules an upload of its gradients' statistics every step and never cancels the jobs."""
# kind: Jobs of a scheduler (module global of a library), partial's arguments, with schedule.
# after: "schedule: jobs pile up, my process grows" (jobs registered within the loop)
# fix: `schedule.clear('upload')` before the next job is added (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ["schedule: jobs", "schedule.jobs", "default_scheduler.jobs"]  # `schedule.default_scheduler.jobs` (list of Job; `.job_func` is a partial with `grads`), also known as `schedule.jobs`
# lines = ["grads = torch.cat([p.grad.flatten() for p in model.parameter"]
# bytes = 54824  # flat gradient of (96*128+128 + 128*10+10 = 13706) float32 = 54824 a step; measured 53.5 KiB
# ///
import os

import schedule
import torch
from torch import nn

sent = []


def upload(step, grads):
    sent.append((step, grads.norm().item()))


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(96, 128), nn.Tanh(), nn.Linear(128, 10))
    opt = torch.optim.Adam(model.parameters())
    for step in range(1, 91):
        x, y = torch.randn(256, 96), torch.randint(10, (256,))
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        grads = torch.cat([p.grad.flatten() for p in model.parameters()])
        if os.environ.get("FIX"):
            schedule.clear("upload")
        schedule.every(30).minutes.do(upload, step, grads).tag("upload")
        schedule.run_pending()
    print(len(schedule.get_jobs("upload")), "jobs", loss.item())


if __name__ == "__main__":
    main()
