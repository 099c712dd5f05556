"""State of a communication hook, with torch.distributed (gloo, one process), DistributedDataParallel."""
# after: "DDP communication hook: my state keeps the buckets for error feedback, memory grows" (forum, distributed)
# fix: state.errors.clear() before the new one is kept
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "state.errors"  # state.errors (list of an object that C++'s reducer holds with the hook; also the variable `state`)
# lines = ["error = grad - sent"]
# bytes = 142376  # gradients: (128*256+256+256*10+10)*4 = 142,376 B = 139 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 139.0, 139.0; all malloc'd 141.7, 142.4 (with FIX: 0.0, 0.0; 1.6, 2.3)
# ///
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class Feedback:
    def __init__(self):
        self.errors = []


def half_with_feedback(state, bucket):
    grad = bucket.buffer()
    sent = grad.to(torch.bfloat16).float()
    error = grad - sent
    if os.environ.get("FIX"):
        state.errors.clear()
    if state.errors:
        sent = sent + 0.1 * state.errors[-1]
    state.errors.append(error)
    work = dist.all_reduce(sent, async_op=True)
    return work.get_future().then(lambda f: f.value()[0])


model = DDP(nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)))
state = Feedback()
model.register_comm_hook(state, half_with_feedback)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 101):
    x = torch.randn(64, 128)
    loss = nn.functional.cross_entropy(model(x), x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, round(loss.item(), 3), flush=True)
dist.destroy_process_group()
