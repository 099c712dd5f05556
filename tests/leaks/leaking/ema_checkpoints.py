"""Checkpoints of averaged weights are deep copies that stay in a list until the end of training."""
# lucidrains/ema-pytorch#35: Memory leak in PostHocEMA during checkpointing
# epfml/schedules-and-scaling#2: EMA & WA: basic fix + compiled model memory leak fix
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "checkpoints"
# lines = ["self.checkpoints.append(copy.deepcopy("]
# bytes = 33024  # 64 x 128 floats and a bias of 64
# ///
import copy

import torch
from torch import nn


class PostHocEma:
    def __init__(self, model, decay=0.9):
        self.ema_model, self.decay = copy.deepcopy(model), decay
        self.checkpoints = []

    @torch.no_grad()
    def update(self, model):
        for average, parameter in zip(self.ema_model.parameters(), model.parameters()):
            average.lerp_(parameter, 1 - self.decay)

    def checkpoint(self):
        self.checkpoints.append(copy.deepcopy(self.ema_model))


model = nn.Linear(128, 64)
ema = PostHocEma(model)
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    loss = model(torch.randn(16, 128)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)
    ema.checkpoint()
