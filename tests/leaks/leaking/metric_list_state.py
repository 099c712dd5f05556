"""A metric with list states is updated for ever and never reset."""
# NRCan/geo-deep-learning#582: "[BUG]: Torchmetrics memory leaks causing OOMs"
# Lightning-AI/torchmetrics#1949: Memory leak when creating multiple instances of the same metric
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "metric"
# lines = ["self.target.append("]
# bytes = 12288  # predictions of 1024 floats, targets of 1024 numbers of 8 bytes
# ///
import torch
from torch import nn


class AveragePrecision(nn.Module):
    def __init__(self):
        super().__init__()
        self._defaults = {"preds": [], "target": []}
        self.preds, self.target = [], []

    def update(self, preds, target):
        self.preds.append(preds.detach().flatten())
        self.target.append((target.flatten() > 0).long())

    def forward(self, preds, target):
        self.update(preds, target)
        return (preds.round() == target).float().mean()


model = nn.Linear(64, 32)
metric = AveragePrecision()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    x, y = torch.randn(32, 64), torch.randint(2, (32, 32))
    prediction = torch.sigmoid(model(x))
    loss = nn.functional.binary_cross_entropy(prediction, y.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    metric(prediction, y)
