"""grad_batch (batch * parameters) is written anew in each step, the noise scale keeps ten numbers in a deque. Looks like: large tensors hang on parameters at each dump."""
# report: "BackPACK: param.grad_batch and module.input0 stay after backward"
# kind: attributes of parameters and modules that each backward pass replaces
# library: backpack-for-pytorch
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors -5.8, -5.8; all malloc'd -4.5, -5.5
# /// healthy
# dumps = "steps"
# ///
from collections import deque
import torch
from torch import nn
from backpack import backpack, extend
from backpack.extensions import BatchGrad

torch.manual_seed(0)
model = extend(nn.Sequential(nn.Linear(50, 64), nn.ReLU(), nn.Linear(64, 6)))
lossfunc = extend(nn.CrossEntropyLoss())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
noise = deque(maxlen=10)
for step in range(1, 121):
    n = 24 + step % 3 * 8
    x = torch.randn(n, 50)
    loss = lossfunc(model(x), x[:, :6].argmax(1))
    opt.zero_grad()
    with backpack(BatchGrad()):
        loss.backward()
    noise.append(sum(p.grad_batch.var(0).sum().item() for p in model.parameters()))
    opt.step()
    if step % 40 == 0:
        print(step, round(loss.item(), 4), round(sum(noise) / len(noise), 5), flush=True)
