"""Two CUDA devices: tensors on each, copies from one to the other, and a parallel module's replicas."""
import torch
from torch import nn

import cuda_truth

here = torch.ones(1000, device="cuda:0")
there = here.to("cuda:1")
with torch.cuda.device(1):
    big = torch.empty(3 << 20, device="cuda")
pinned = torch.ones(5000).pin_memory()
copied = pinned.to("cuda:1", non_blocking=True)
model = nn.Linear(8, 4).cuda(1)
model(torch.randn(2, 8, device="cuda:1")).sum().backward()
print(here.device, there.device, big.device, copied.device, pinned.is_pinned())
cuda_truth.moment(here=here._cdata, there=there._cdata, big=big._cdata, pinned=pinned._cdata)
cuda_truth.print_statistics()
