"""One rank of a small DDP program over gloo: trains some steps, prints "last line", and ends.

    ends_program.py RENDEZVOUS_FILE RANK RANKS HOW

HOW it ends: "destroyed" calls destroy_process_group() first, "left" does not. A fatal signal prints the native stacks
of all threads (torch's own handler) and the Python stacks (faulthandler), so that an abort says whose it is.
"""

import faulthandler
import sys

faulthandler.enable(all_threads=True)

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

file, rank, ranks, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
torch._C._set_print_stack_traces_on_fatal_signal(True)
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)))
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
for _ in range(6):
    loss = torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(0, 10, (32,)))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("last line", flush=True)
if how == "destroyed":
    dist.destroy_process_group()
