"""One accelerator prepares model after model: its lists keep every optimizer, and these the old weights and moments."""
# huggingface/accelerate#84: Add warning not to reuse `Accelerator`
# huggingface/accelerate#739: Fix memory leak
# /// leak
# dumps = "steps"
# kinds = ["gone-parameters", "container"]
# holder = "accelerator._optimizers"
# lines = ["model = nn.Linear(", "optimizer.step()", "loss.backward()"]
# bytes = 66560  # weights of 64 x 64 floats and a bias of 64, gradients, two moments
# ///
import torch
from torch import nn


class Accelerator:
    def __init__(self):
        self._optimizers, self._models = [], []

    def prepare(self, model, optimizer):
        self._optimizers.append(optimizer)
        return model, optimizer


def train_one(accelerator, seed):
    torch.manual_seed(seed)
    model = nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer = accelerator.prepare(model, optimizer)
    loss = model(torch.randn(16, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


accelerator = Accelerator()
print([train_one(accelerator, seed) for seed in range(60)][-1])
