"""List attribute of a module, dicts of tensors; torch only."""
# after: Lightning 2 migration: validation_step_outputs never cleared
# fix: self.validation_step_outputs.clear() at the epoch's end (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "module.validation_step_outputs"  # module.validation_step_outputs (Module.validation_step_outputs)
# lines = ["logits = self.net(x)"]
# bytes = 78336  # 78,336 measured a step (every 2nd step 3 x (128x100x4 + 128x8) = 156,672): logits (the first line) 76,800 and labels 1,536 (line of `return x, x[:, :50].argmax(1)` in batch); malloc 80,000
# ///
import os
import torch
from torch import nn


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 100))
        self.validation_step_outputs = []

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    @torch.no_grad()
    def validation_step(self, batch):
        x, y = batch
        logits = self.net(x)
        self.validation_step_outputs.append({"logits": logits, "labels": y})

    def on_validation_epoch_end(self):
        logits = torch.cat([o["logits"] for o in self.validation_step_outputs])
        labels = torch.cat([o["labels"] for o in self.validation_step_outputs])
        acc = (logits.argmax(1) == labels).float().mean().item()
        if os.environ.get("FIX"):
            self.validation_step_outputs.clear()
        return acc


class Trainer:
    def __init__(self, module):
        self.module = module
        self.optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)

    def fit(self, steps, val_every):
        for step in range(1, steps + 1):
            self.optimizer.zero_grad()
            self.module.training_step(batch(256)).backward()
            self.optimizer.step()
            if step % val_every == 0:
                for _ in range(3):
                    self.module.validation_step(batch(128))
                acc = self.module.on_validation_epoch_end()
                if step % 40 == 0:
                    print(step, round(acc, 3))


def batch(n):
    x = torch.randn(n, 64)
    return x, x[:, :50].argmax(1)


torch.manual_seed(0)
Trainer(Module()).fit(200, 2)
