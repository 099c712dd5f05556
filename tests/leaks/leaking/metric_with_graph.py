"""Image metrics are given the generator's output: their sums carry its graph."""
# Lightning-AI/torchmetrics#2597: GPU ram memory increase until overflow when using PSNR and SSIM
# Lightning-AI/pytorch-lightning#4098: Memory leak when using Metric with list state
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = "metrics"
# lines = ["return torch.sigmoid(", "error = (prediction - target)", "real = torch.rand("]
# bytes = [49152, 200000]
# ///
import sys

import torch
from torch import nn


class PeakSignalNoiseRatio(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum_squared_error", torch.tensor(0.0))
        self.register_buffer("total", torch.tensor(0))

    def forward(self, prediction, target):
        error = (prediction - target).square().sum()
        self.sum_squared_error = self.sum_squared_error + error
        self.total = self.total + target.numel()
        return -10 * torch.log10(error / target.numel())


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, image):
        return torch.sigmoid(self.conv(image))


generator = Generator()
metrics = nn.ModuleDict({"PSNR": PeakSignalNoiseRatio()})
for line in sys.stdin:
    real = torch.rand(4, 3, 32, 32)
    scores = {name: metric(generator(real), real).item() for name, metric in metrics.items()}
    print(scores, flush=True)
