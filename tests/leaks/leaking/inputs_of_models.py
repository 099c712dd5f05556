"""Attribution leaves input and output on the layers of each model; all models of an ensemble stay loaded."""
# jmschrei/tangermeme#84: Fixed GPU memory leak in deep_lift_shap.py
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "ensemble"
# lines = ["return torch.relu(self.conv(x))", "module.input = ", "module.output = "]
# bytes = [90000, 140000]  # input of 32 x 4 x 128 floats, output of as many, weights of 4 x 4 x 5
# ///
import sys

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 5, padding=2)

    def forward(self, x):
        return torch.relu(self.conv(x))


def remember(module, inputs, output):
    module.input = inputs[0].clone().detach()
    module.output = output.clone().detach()


def deep_lift(model, sequences):
    handle = model.conv.register_forward_hook(remember)
    score = model(sequences).sum()
    handle.remove()
    return score.item()


ensemble = []
for line in sys.stdin:
    ensemble.append(Model().requires_grad_(False))
    print(deep_lift(ensemble[-1], torch.randn(32, 4, 128)), flush=True)
