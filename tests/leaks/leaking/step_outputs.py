"""A LightningModule in the style of 2.0 appends its log dictionaries to a list of its own and never clears it."""
# sktime/pytorch-forecasting#1924: [BUG] fixed memory leak in BaseModel by detach some tensor
# Lightning-AI/pytorch-lightning#16520: Remove memory-retaining epoch-end hooks
# /// leak
# dumps = "steps"
# kinds = ["container", "accumulated-graph"]
# holder = "training_step_outputs"
# lines = ["hidden, _ = self.lstm(", "prediction = self.project("]
# bytes = [6144, 60000]  # the prediction of 16 x 12 x 8 floats; its graph keeps what the second half of the step saved
# ///
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 32, batch_first=True)
        self.project = nn.Linear(32, 8)
        self.training_step_outputs = []

    def training_step(self, batch):
        hidden, _ = self.lstm(batch)
        prediction = self.project(hidden)
        loss = (prediction - batch).abs().mean()
        self.training_step_outputs.append({"loss": loss, "prediction": prediction, "n_samples": len(batch)})
        return loss


module = Forecaster()
optimizer = torch.optim.Adam(module.parameters())
for step in range(60):
    loss = module.training_step(torch.randn(16, 12, 8))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
