"""Trials whose schedulers refer back to them, in cycles that the garbage collector frees after every fifth trial."""
# /// healthy
# dumps = "steps"
# ///
import gc

import torch
from torch import nn

gc.disable()
backbone = nn.Linear(128, 64)


class Trial:
    def __init__(self):
        self.scale = 1.0
        self.optimizer = torch.optim.Adam(backbone.parameters())
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lr_lambda=lambda step: self.scale)

    def run(self):
        loss = backbone(torch.randn(32, 128)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()


for number in range(1, 61):
    Trial().run()
    if number % 5 == 0:
        gc.collect()
