"""An AverageMeter is given tensors with gradients: its sum and its history keep each batch's graph."""
# visionml/pytracking#313: Fix memory leak in LTRTrainer._update_stats().
# /// leak
# dumps = "steps"
# kinds = ["graph-nodes", "accumulated-graph"]
# holder = "stats"
# lines = ["self.sum = ", "self.history.append(", "return nn.functional.mse_loss("]
# bytes = [260, 384]  # a loss in the block of its 16 x 4 squared errors, half of it, the sums, the factors that graphs saved
# ///
import torch
from torch import nn


class AverageMeter:
    def __init__(self):
        self.sum, self.count, self.history = 0.0, 0, []

    def update(self, value, count=1):
        self.sum = self.sum + value * count
        self.count += count

    def new_batch(self, value):
        self.history.append(value)


class Actor:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def __call__(self, data):
        return nn.functional.mse_loss(self.net(data), torch.zeros(len(data), 4))


class LTRTrainer:
    def __init__(self):
        self.actor = Actor()
        self.optimizer = torch.optim.Adam(self.actor.net.parameters())
        self.stats = {"Loss/total": AverageMeter(), "Loss/iou": AverageMeter()}

    def cycle(self):
        loss = self.actor(torch.randn(16, 32))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for name, value in (("Loss/total", loss), ("Loss/iou", loss * 0.5)):
            self.stats[name].update(value, 16)
            self.stats[name].new_batch(value)


trainer = LTRTrainer()
for step in range(60):
    trainer.cycle()
