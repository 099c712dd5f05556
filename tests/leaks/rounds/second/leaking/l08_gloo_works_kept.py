"""The Work objects of asynchronous collectives are kept, and each keeps the tensors of its collective."""
# after: pytorch/pytorch: torch.distributed, async_op=True
# fix: self.works.clear() after wait()
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache", "cpp-only"]
# holder = "sync.works"
# lines = ["flat = torch.cat("]
# bytes = 37408  # 9,352 floats of gradients, an input that the Work keeps in C++
# ///
import torch
import torch.distributed as dist
from torch import nn

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class Reducer:
    def __init__(self, module):
        self.module = module
        self.works = []

    def launch(self):
        flat = torch.cat([p.grad.reshape(-1) for p in self.module.parameters()])
        work = dist.all_reduce(flat, async_op=True)
        self.works.append(work)
        return flat

    def finish(self, flat):
        self.works[-1].wait()
        start = 0
        for p in self.module.parameters():
            p.grad.copy_(flat[start:start + p.numel()].view_as(p))
            start += p.numel()


model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
sync = Reducer(model)
for step in range(66):
    loss = model(torch.randn(32, 64)).square().mean()
    opt.zero_grad()
    loss.backward()
    sync.finish(sync.launch())
    opt.step()
print("loss", loss.item(), "works", len(sync.works))
dist.destroy_process_group()
