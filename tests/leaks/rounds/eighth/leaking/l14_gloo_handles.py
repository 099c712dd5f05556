"""Handles of asynchronous collectives keep their tensors, with torch.distributed (gloo)."""
# after: issue "all_reduce(async_op=True): memory grows, I keep the handles to wait for them at the end"
# fix: handle.wait() every step and no list (FIX)
# /// leak
# dumps = "steps"
# kinds = ["cpp-only", "container", "module-cache"]
# holder = "handles"  # `handles` (list of Work)
# lines = ["bucket = net.weight.grad.flatten().clone()"]
# bytes = 60000  # 150 x 100 x 4 = 60000 a step (the flattened gradient); measured 60000 60000 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import tempfile
import torch
import torch.distributed as dist

torch.manual_seed(0)
rendezvous = tempfile.NamedTemporaryFile()
dist.init_process_group("gloo", init_method="file://" + rendezvous.name, rank=0, world_size=1)
net = torch.nn.Linear(100, 150, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
handles = []

for step in range(70):
    x = torch.randn(32, 100)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    bucket = net.weight.grad.flatten().clone()  # LEAK
    work = dist.all_reduce(bucket, async_op=True)
    if os.environ.get("FIX"):
        work.wait()
    else:
        handles.append(work)
    opt.step()

for work in handles:
    work.wait()
print(loss.item())
dist.destroy_process_group()
