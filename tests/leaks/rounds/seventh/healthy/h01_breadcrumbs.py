"""Sentry's scope keeps a deque of at most 10 breadcrumbs (full after step 10); each holds a tensor of 32 KiB. Looks like callbacks/recorder that keeps tensors of earlier steps."""
# report: "does sentry keep my tensors?": breadcrumbs carry predictions, the SDK keeps the last max_breadcrumbs only
# library: sentry-sdk
# /// healthy
# dumps = "steps"
# ///
import sentry_sdk
import torch
import torch.nn as nn

sentry_sdk.init(dsn=None, max_breadcrumbs=10, default_integrations=False)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 64))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(70):
    x = torch.randn(128, 32)
    out = net(x)
    loss = (out - x.repeat(1, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sentry_sdk.get_isolation_scope().add_breadcrumb(category="train", message="predicted", data={"out": out.detach().clone(), "loss": loss.item()})
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
