"""Mock that records calls, with unittest.mock."""
# after: "our smoke test needs 30 GB": the experiment tracker is replaced by MagicMock, which remembers all calls and their arguments
# fix: run.reset_mock() after the step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["run._mock_mock_calls", "run.method_calls", "['log_image']._mock_mock_calls", "call_args_list"]  # run (MagicMock): run.mock_calls, run.method_calls, run.log_image.mock_calls, run.log_image.call_args_list (all; reset_mock() clears them)
# lines = ["picture = restored.detach().clamp(0, 1)"]
# bytes = 32768  # 8 x 32 x 32 float32; storages
# ///
import os
from unittest import mock

import torch
import torch.nn as nn


def train(run, steps):
    net = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(steps):
        clean = torch.rand(8, 1, 32, 32)
        noisy = clean + 0.1 * torch.randn_like(clean)
        restored = net(noisy)
        loss = (restored - clean).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run.log_metric("loss", loss.item(), step=step)
        picture = restored.detach().clamp(0, 1)
        run.log_image("restored", picture, step=step)
        if os.environ.get("FIX"):
            run.reset_mock()
        if step % 20 == 0:
            print(step, loss.item(), flush=True)


torch.manual_seed(0)
train(mock.MagicMock(name="wandb.run"), 66)
