"""A training loop on a CUDA device: parameters, gradients, optimizer state and the last step's activations are alive at the moment."""
import torch
from torch import nn

import cuda_truth

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 16), nn.ReLU(),
                      nn.Linear(16, 4)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(5):
    optimizer.zero_grad()
    output = model(torch.randn(4, 3, 8, 8, device="cuda"))
    loss = output.square().mean()
    loss.backward()
    optimizer.step()
loss = model(torch.randn(4, 3, 8, 8, device="cuda")).square().mean()
print(loss.shape, loss.device)
first = model[0]
cuda_truth.moment(weight=first.weight._cdata, gradient=first.weight.grad._cdata,
                  average=optimizer.state[first.weight]["exp_avg"]._cdata, running=model[1].running_mean._cdata,
                  loss=loss._cdata)
cuda_truth.print_statistics()
