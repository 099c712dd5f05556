"""Callbacks of an event emitter, closures, with pyee."""
# after: Node-style "MaxListenersExceededWarning" as reported for pyee: a listener is added for every batch and never removed
# fix: events.once in place of events.on and emit each time / remove_listener
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "events._events['epoch_end']"  # events._events['epoch_end'] (closure of on_end: features)
# lines = ["stats = features.detach().abs().sqrt()"]
# bytes = 196608  # 256 x 192 float32; storages
# ///
import os

import torch
import torch.nn as nn
from pyee.base import EventEmitter

events = EventEmitter()


class Trainer:
    def __init__(self):
        self.encoder = nn.Sequential(nn.Linear(48, 192), nn.Tanh())
        self.head = nn.Linear(192, 10)
        self.opt = torch.optim.Adam([*self.encoder.parameters(), *self.head.parameters()], lr=1e-3)
        self.norms = []

    def batch(self, x, y):
        features = self.encoder(x)
        loss = nn.functional.cross_entropy(self.head(features), y)
        self.opt.zero_grad()
        loss.backward()
        stats = features.detach().abs().sqrt()

        def on_end():
            self.norms.append(stats.mean().item())

        events.on("epoch_end", on_end)
        self.opt.step()
        if os.environ.get("FIX"):
            events.emit("epoch_end")
            events.remove_listener("epoch_end", on_end)
        return loss.item()


torch.manual_seed(1)
trainer = Trainer()
for step in range(66):
    x = torch.randn(256, 48)
    value = trainer.batch(x, torch.randint(0, 10, (256,)))
    if step % 20 == 0:
        print(step, value, flush=True)
events.emit("epoch_end")
print(len(trainer.norms))
