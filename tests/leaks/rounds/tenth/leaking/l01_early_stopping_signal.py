"""Training with events: every epoch-like block connects another callback to the same signal and never disconnects it."""
# kind: Callback registry of a library; closure; tensors, with psygnal.
# after: "SignalInstance keeps connected lambdas alive" (psygnal), "listeners pile up in my training loop"
# fix: `trainer.stepped.disconnect()` before connecting (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "trainer.stepped"  # `trainer.stepped` (the signal's list `_slots`), whose closures `compare` keep `reference`
# lines = ["reference = self.model(probe).detach()"]
# bytes = 65536  # 64 x 256 float32 = 65536 a step (storage of `reference`); measured 64.0 KiB
# ///
import os

import torch
from psygnal import Signal
from torch import nn


class Trainer:
    stepped = Signal(int, float)

    def __init__(self):
        self.model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.drift = []

    def watch_drift(self, probe):
        """report how far the outputs moved away from what they are now"""
        if os.environ.get("FIX"):
            self.stepped.disconnect()
        reference = self.model(probe).detach()

        def compare(step, loss):
            if step % 10 == 0:
                with torch.no_grad():
                    moved = (self.model(probe) - reference).norm().item()
                self.drift.append(moved)
                del self.drift[:-20]

        self.stepped.connect(compare)

    def step(self, step, x, y):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.opt.step()
        self.stepped.emit(step, loss.item())


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    probe = torch.randn(64, 128)
    for step in range(1, 91):
        trainer.watch_drift(probe)
        trainer.step(step, torch.randn(512, 128), torch.randn(512, 256))
    print("drift", trainer.drift[-1])


if __name__ == "__main__":
    main()
