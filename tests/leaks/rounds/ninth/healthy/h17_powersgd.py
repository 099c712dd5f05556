"""error_dict, p_memory_dict and q_memory_dict have one entry for each bucket, made at iteration 10; replaced afterwards."""
# report: "PowerSGD hook: memory is higher after start_powerSGD_iter"
# kind: state of a communication hook with a warm-up
# library: torch.distributed (gloo, one process), DDP
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 3.4, 4.6
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as psgd
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DDP(nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 8)))
state = psgd.PowerSGDState(process_group=None, matrix_approximation_rank=2, start_powerSGD_iter=10, min_compression_rate=1)
model.register_comm_hook(state, psgd.powerSGD_hook)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(1, 101):
    x = torch.randn(64, 128)
    loss = nn.functional.cross_entropy(model(x), x[:, :8].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, round(loss.item(), 4), len(state.error_dict), flush=True)
dist.destroy_process_group()
