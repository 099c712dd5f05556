"""A training loop where torch's allocator reports nothing: what is alive at the end, and what is allocated on the device."""
import torch
from torch import nn

import truth

model = nn.Sequential(nn.Linear(300, 500), nn.ReLU(), nn.Linear(500, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(64, 300, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
kept = [torch.empty(1000 * (i + 1), device="cuda") for i in range(20)]
del kept[::2]
loss = model(torch.randn(64, 300, device="cuda")).square().mean()
torch.cuda.synchronize()
free, total = torch.cuda.mem_get_info()
truth.moment(taken=total - free, weight=model[0].weight._cdata)
