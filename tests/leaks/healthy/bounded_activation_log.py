"""Hooks log the activations of each layer to a buffer, which is written out and emptied when it has 50 entries."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class ActivationLog:
    def __init__(self, model, limit):
        self.buffer, self.limit, self.flushed = [], limit, []
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.register_forward_hook(self.hook(name))

    def hook(self, name):
        def log(module, inputs, output):
            self.buffer.append((name, output.detach()))
            if len(self.buffer) >= self.limit:
                self.flushed.append({name: output.std().item() for name, output in self.buffer})
                self.buffer.clear()
        return log


model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
log = ActivationLog(model, limit=50)
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    loss = model(torch.randn(64, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
