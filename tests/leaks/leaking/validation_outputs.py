"""The evaluation loop keeps what validation_step returns for a hook that this module does not have."""
# Lightning-AI/pytorch-lightning#8583: validation_step output shouldn't be stored if validation_epoch_end isn't overriden
# Lightning-AI/pytorch-lightning#8453: evaluation_loop memory leak
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "outputs"
# lines = ["logits = self.layer("]
# bytes = 16388  # logits of 32 x 128 floats, the loss
# ///
import torch
from torch import nn


class BoringModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 128)

    def training_step(self, batch):
        return self.layer(batch).square().mean()

    def validation_step(self, batch):
        logits = self.layer(batch)
        return {"loss": logits.square().mean(), "logits": logits}


class EvaluationLoop:
    def __init__(self):
        self.outputs = []

    @torch.no_grad()
    def run(self, module, batches):
        for batch in batches:
            self.outputs.append(module.validation_step(batch))


class Trainer:
    def __init__(self):
        self.evaluation_loop = EvaluationLoop()

    def fit(self, module, steps):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            module.training_step(torch.randn(32, 32)).backward()
            self.evaluation_loop.run(module, [torch.randn(32, 32)])
            optimizer.step()


Trainer().fit(BoringModule(), 60)
