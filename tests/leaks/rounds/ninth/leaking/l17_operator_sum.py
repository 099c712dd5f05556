"""Lazy expression of a library that grows, with linear_operator."""
# after: "online update K = K + low rank: the sum of operators gets longer and longer, it is never evaluated" (linear_operator, lazy sums)
# fix: cov = to_linear_operator(cov.to_dense()) every few steps (as a constant 512*512*4 = 1 MiB)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holders = ["cov._linear_op.linear_ops", "_args_memo"]  # cov (SumLinearOperator: cov.linear_ops, of which each holds root.tensor); correction: an operator's _args_memo has each part as well: both have to go
# lines = ["phi = features(probe + 0.1 * torch.randn_like(probe)) / 8"]
# bytes = 16384  # 512*8*4 = 16 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 16.0, 16.0; all malloc'd 18.4, 18.7 (with FIX: 0.0, 0.0; 0.6, 0.3)
# ///
import os
import torch
from torch import nn
from linear_operator import to_linear_operator
from linear_operator.operators import DiagLinearOperator, RootLinearOperator
from ask import at

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(20, 128), nn.Tanh(), nn.Linear(128, 8))
probe = torch.randn(512, 20)
cov = DiagLinearOperator(torch.ones(512))
mean = torch.zeros(512, 1)
for step in range(1, 101):
    with torch.no_grad():
        phi = features(probe + 0.1 * torch.randn_like(probe)) / 8
        cov = cov + RootLinearOperator(phi)
        residual = torch.sin(probe[:, :1] * step / 50) - mean
        mean = mean + 0.01 * (cov @ residual) / (1 + step / 10)
        if os.environ.get("FIX") and step % 5 == 0:
            cov = to_linear_operator(cov.to_dense())
    if step % 25 == 0:
        print(step, type(cov).__name__, round(residual.abs().mean().item(), 4), flush=True)
    at(step)
