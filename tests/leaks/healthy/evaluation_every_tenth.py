"""Every tenth step is followed by an evaluation; the logits of the last three are kept, and the best weights."""
# /// healthy
# dumps = "steps"
# ///
import copy

import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.validation = [torch.randn(64, 64) for _ in range(8)]
        self.evaluations, self.best, self.best_loss = [], None, float("inf")

    def evaluate(self, step):
        self.model.eval()
        logits, losses = [], []
        with torch.no_grad():
            for x in self.validation:
                logits.append(self.model(x))
                losses.append(logits[-1].square().mean().item())
        self.model.train()
        self.evaluations = [*self.evaluations[-2:], {"step": step, "logits": torch.cat(logits), "losses": losses}]
        if sum(losses) < self.best_loss:
            self.best, self.best_loss = copy.deepcopy(self.model.state_dict()), sum(losses)

    def fit(self, steps):
        for step in range(1, steps + 1):
            loss = self.model(torch.randn(64, 64)).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 10 == 0:
                self.evaluate(step)


Trainer().fit(60)
