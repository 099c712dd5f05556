"""A torchtnt unit keeps each step's outputs for the end of the epoch, and never forgets them."""
# kind: list of dicts on the unit, with torchtnt
# after: Lightning/TNT "training_step outputs accumulated in self.outputs, OOM after some epochs"
# fix: self.outputs.clear() in on_train_epoch_end (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "unit.outputs"
# lines = ["features = torch.tanh(self.encoder(x))", "logits = self.head(features)"]  # features, logits
# bytes = 37888  # features 64x128x4 = 32768 + logits 64x20x4 = 5120 = 37888; the loss is a float; measured, bytes a step in 20..40, 40..60: tensors that gc sees 37888,37888, malloc in use 39012,38669, rss 43008,40550; with FIX: malloc 381,143, rss -614,2048
# ///
import logging
import os
import torch
from torch import nn
from torchtnt.framework.train import train
from torchtnt.framework.unit import TrainUnit

logging.disable(logging.WARNING)
torch.manual_seed(0)


class Unit(TrainUnit):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(50, 128), nn.Linear(128, 20)
        self.optimizer = torch.optim.SGD([*self.encoder.parameters(), *self.head.parameters()], lr=0.1)
        self.outputs = []

    def train_step(self, state, data):
        x, y = data
        features = torch.tanh(self.encoder(x))
        logits = self.head(features)
        loss = nn.functional.cross_entropy(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.outputs.append({"loss": loss.item(), "features": features.detach(), "logits": logits.detach()})

    def on_train_epoch_end(self, state):
        mean = sum(o["loss"] for o in self.outputs) / len(self.outputs)
        print("epoch", self.train_progress.num_epochs_completed, "loss", round(mean, 3))
        if os.environ.get("FIX"):
            self.outputs.clear()


data = torch.utils.data.TensorDataset(torch.randn(640, 50), torch.randint(0, 20, (640,)))
unit = Unit()
train(unit, torch.utils.data.DataLoader(data, batch_size=64, shuffle=True), max_epochs=7)
