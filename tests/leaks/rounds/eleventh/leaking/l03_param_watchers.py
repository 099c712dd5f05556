"""Observers of a library that only grow; closure, with param."""
# after: "param.watch in a loop: watchers are never unwatched" (dashboards with panel/param): every step watches the dashboard with a callback for its own sample
# fix: dashboard.param.unwatch(watcher) at the end of the step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "dashboard._param__private.watchers"  # dashboard._param__private.watchers (dashboard.param.watchers['epoch']['value'][i].fn -> closure cells sample, pred)
# lines = ["sample = torch.rand(8, 3, 32, 32)", "pred = net(sample + 0.1 * torch.randn_like(sample)).detach()"]
# bytes = 196608  # 196608 (sample 8x3x32x32 float32 = 98304 B, pred 8x3x32x32 = 98304 B)
# ///
import os

import param
import torch
import torch.nn as nn

torch.manual_seed(0)


class Dashboard(param.Parameterized):
    epoch = param.Integer(0)
    text = param.String("")


def show(dashboard, step, sample, pred):
    def redraw(event):
        if event.new == step:
            dashboard.text = f"{step}: {float((sample - pred).abs().mean()):.3f}"
    return dashboard.param.watch(redraw, "epoch")


dashboard = Dashboard()
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(1, 71):
    sample = torch.rand(8, 3, 32, 32)
    pred = net(sample + 0.1 * torch.randn_like(sample)).detach().clamp(0, 1)
    watcher = show(dashboard, step, sample, pred)
    loss = nn.functional.mse_loss(net(sample), sample)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dashboard.epoch = step
    if os.environ.get("FIX"):
        dashboard.param.unwatch(watcher)
print(dashboard.text)
