"""A validation loss is summed up outside no_grad: nothing frees what the graphs saved."""
# pytorch/pytorch#17568: GPU memory leak on Pytorch 1.0?
# /// leak
# dumps = "requests"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = "running_loss"
# lines = ["return self.decode(", "batch = torch.randn(", "error = "]
# bytes = [16384, 32768]  # a batch of 32 x 32 floats, an activation of 32 x 64, the difference of 32 x 32
# ///
import sys

import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(32, 64)
        self.decode = nn.Linear(64, 32)

    def forward(self, x):
        return self.decode(torch.sigmoid(self.encode(x)))


def main():
    model = AutoEncoder()
    running_loss = 0.0
    for line in sys.stdin:
        batch = torch.randn(32, 32)
        error = model(batch) - batch
        running_loss += error.square().mean()
        print(running_loss.item(), flush=True)


main()
