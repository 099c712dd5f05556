"""Models are trained one after another by backward(create_graph=True); the gradients of the last step stay on their parameters."""
# kach/gradient-descent-the-ultimate-optimizer#1: setting grad None after training to avoid memory leak
# /// leak
# dumps = "requests"
# kinds = ["graph-cycle"]
# holder = "its .grad"
# lines = ["model = nn.Linear(", "loss.backward(", "loss = ", "x = "]
# bytes = [33000, 150000]  # weight and gradient of 64 x 64 floats and a bias; some of 32 x 64 that the graphs saved
# ///
import sys
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


def trained():
    model = nn.Linear(64, 64)
    for step in range(3):
        x = torch.randn(32, 64)
        loss = torch.tanh(model(x)).square().mean()
        model.zero_grad()
        loss.backward(create_graph=True)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
    return loss.item()


for line in sys.stdin:
    print(trained(), flush=True)
