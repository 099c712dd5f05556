"""Sampling from a diffusion model outside no_grad: each denoised image keeps the graph of all timesteps before it."""
# TeaPearce/Conditional_Diffusion_MNIST#12: Memory consumption issue and solution
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached", "accumulated-graph"]
# holder = "x_i"
# lines = ["x_i = ", "eps = "]
# bytes = [16384, 33000]  # 8 x 256 floats: the image and what tanh saves; perhaps the two terms of the sum
# ///
import sys

import torch
from torch import nn

nn_model = nn.Sequential(nn.Linear(256, 256), nn.Tanh())
x_i = torch.randn(8, 256)
for line in sys.stdin:
    z = torch.randn(8, 256)
    eps = nn_model(x_i)
    x_i = 1.01 * (x_i - 0.05 * eps) + 0.1 * z
    print(x_i.mean().item(), flush=True)
