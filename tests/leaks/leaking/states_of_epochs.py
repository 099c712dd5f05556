"""An experiment stores the state dictionary of every iterate under its number."""
# choderalab/pinot#23: memory leak in `pinot.TrainAndTest`?
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "states"
# lines = ["self.states[epoch] = copy.deepcopy("]
# bytes = 37936  # 64 x 128 + 128 + 128 x 9 + 9 floats; and 3 of 4 bytes
# ///
import copy

import torch
from torch import nn


class Train:
    def __init__(self, net, optimizer):
        self.net, self.optimizer, self.states = net, optimizer, {}

    def train(self, epochs):
        for epoch in range(epochs):
            loss = self.net(torch.randn(20, 64)).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.states[epoch] = copy.deepcopy(self.net.state_dict())


net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 9))
Train(net, torch.optim.Adam(net.parameters())).train(60)
