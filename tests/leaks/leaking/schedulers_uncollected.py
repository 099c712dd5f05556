"""The garbage collector is off, and a trial's scheduler has a lambda that refers to the trial: no trial is ever freed."""
# pytorch/pytorch#47589: LambdaLR + class binding causes GPU memory leakage
# facebookresearch/dinov3#150: Garbage Collector
# NVlabs/GR00T-WholeBodyControl#220: Per-iteration GPU memory leak (OOM in minutes) after #194: omni.kit disables Python auto-GC
# /// leak
# dumps = "steps"
# kinds = ["reference-cycle"]
# holder = "Trial"
# lines = ["self.optimizer.step()"]
# bytes = 66056  # both moments of 128 x 64 weights and 64 biases; two counts of steps, 4 bytes each
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


for trial in range(60):
    Trial().run()
