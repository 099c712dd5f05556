"""A run's history keeps logged tensors: each row holds the loss and the logits' mean with their graphs."""
# wandb/wandb#354: Memory leak using pytorch
# Lightning-Universe/lightning-bolts#793: Logging and progress bar values not detaching
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph"]
# holder = "run.history"
# lines = ["hidden = torch.tanh(", "logits = self.head("]
# bytes = [20480, 40000]  # the forward pass is retained: activations of 64 x 64 floats, log softmax of 64 x 10, the batch
# ///
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(16, 64), nn.Linear(64, 10)

    def forward(self, x):
        hidden = torch.tanh(self.body(x))
        logits = self.head(hidden)
        return logits


class Run:
    def __init__(self):
        self.history = []

    def log(self, row):
        self.history.append(dict(row))


run = Run()
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    x, y = torch.randn(64, 16), torch.randint(10, (64,))
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    run.log({"loss": loss, "mean": logits.mean()})
