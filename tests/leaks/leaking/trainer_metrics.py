"""A trainer stores each epoch's output dictionary without detaching it."""
# pnnl/neuromancer#292: Fixing leaking autograd graph memory in Trainer
# Quantinuum/lambeq#251: bugfix: PytorchTrainer memory leak
# /// leak
# dumps = "steps"
# kinds = ["container", "accumulated-graph"]
# holder = "epoch_outputs"
# lines = ["out = torch.stack("]
# bytes = 16388  # 8 states of 32 x 16 floats, stacked, and the loss; backward frees what the graph saved
# ///
import torch
from torch import nn


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(16, 16)

    def forward(self, x):
        states = []
        for _ in range(8):
            x = x + 0.1 * torch.tanh(self.f(x))
            states.append(x)
        out = torch.stack(states)
        return {"x": out, "train_loss": out.square().mean()}


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.epoch_outputs = []

    def train(self, epochs):
        for _ in range(epochs):
            output = self.model(torch.randn(32, 16))
            self.optimizer.zero_grad()
            output["train_loss"].backward()
            self.optimizer.step()
            self.epoch_outputs.append(output)


trainer = Trainer(Dynamics())
trainer.train(60)
