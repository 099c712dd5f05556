"""module-level table of receivers of a signal library, with PyDispatcher."""
# after: "dispatcher.connect(..., weak=False) in each evaluation, receivers are never disconnected" (PyDispatcher users, Scrapy-like extensions)
# fix: dispatcher.disconnect after the report (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "connections"  # `pydispatch.dispatcher.connections` (closure of `on_report`: preds)
# lines = ["preds = net(val)"]
# bytes = 32768  # 512 x 16 x 4 = 32 KiB of tensor storages (measured); 33.4 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn
from pydispatch import dispatcher

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
opt = torch.optim.Adam(net.parameters())
val = torch.randn(512, 10)


def evaluate(step):
    with torch.no_grad():
        preds = net(val)

    def on_report(threshold):
        return (preds > threshold).float().mean()

    dispatcher.connect(on_report, signal="report", sender=dispatcher.Any, weak=False)
    if step % 30 == 0:
        print(step, len(dispatcher.send(signal="report", sender=evaluate, threshold=0.1)))
    if os.environ.get("FIX"):
        dispatcher.disconnect(on_report, signal="report", sender=dispatcher.Any, weak=False)


for step in range(1, 71):
    x = torch.randn(32, 10)
    loss = (net(x).mean(1) - x[:, 0]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    evaluate(step)
