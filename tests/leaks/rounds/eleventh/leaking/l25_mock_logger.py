"""Recorded calls (unittest.mock), with unittest.mock."""
# after: "MagicMock in a long smoke test eats memory": the experiment tracker is mocked for a dry run and records the arguments of all calls
# fix: tracker.reset_mock() every 10 steps
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["tracker._mock_mock_calls", "tracker.method_calls", "['log_image']._mock_mock_calls", "call_args_list"]  # tracker.mock_calls, tracker.method_calls, tracker.log_image.mock_calls and tracker.log_image.call_args_list: all (tracker.reset_mock())
# lines = ["grid = torch.cat([torch.cat([out[0], out[1]], 2), torch.cat("]
# bytes = 49152  # 49152 (grid 3x64x64 float32 = 49152 B)
# ///
import os
from unittest.mock import MagicMock

import torch
import torch.nn as nn

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 12, 4, stride=4)
        self.dec = nn.ConvTranspose2d(12, 3, 4, stride=4)

    def forward(self, x):
        return self.dec(torch.relu(self.enc(x)))


def train(model, tracker, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(1, steps + 1):
        x = torch.rand(8, 3, 32, 32)
        out = model(x)
        loss = nn.functional.mse_loss(out, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            grid = torch.cat([torch.cat([out[0], out[1]], 2), torch.cat([x[0], x[1]], 2)], 1)
        tracker.log_image("reconstruction", grid, step=step)
        if os.environ.get("FIX") and step % 10 == 0:
            tracker.reset_mock()
    return loss.item()


tracker = MagicMock(name="wandb")
print("loss", round(train(AutoEncoder(), tracker, 80), 4), "calls", tracker.log_image.call_count)
