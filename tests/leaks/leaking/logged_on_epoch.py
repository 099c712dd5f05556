"""What is logged for the end of an epoch is kept with the output of each batch: not the number alone, the loss's tensors, too."""
# Lightning-AI/pytorch-lightning#4556: Gpu memory leak with self.log on_epoch=True
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "epoch_output"
# lines = ["error = "]
# bytes = 16384  # 128 x 32 floats
# ///
import torch
from torch import nn


class Result(dict):
    def log(self, name, value, on_epoch=False):
        self[name] = {"value": value, "on_epoch": on_epoch}


class TrainLoop:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.epoch_output = []

    def run_batch(self, batch):
        result = Result()
        error = (self.model(batch) - batch[:, :32]).abs()
        self.optimizer.zero_grad()
        error.mean().backward()
        self.optimizer.step()
        result.log("constant", 1, on_epoch=True)
        result["minimize"] = error.detach()
        return result

    def run_epoch(self, batches):
        for _ in range(batches):
            result = self.run_batch(torch.randn(128, 64))
            if any(isinstance(entry, dict) and entry["on_epoch"] for entry in result.values()):
                self.epoch_output.append([[result]])


loop = TrainLoop(nn.Linear(64, 32))
loop.run_epoch(60)
