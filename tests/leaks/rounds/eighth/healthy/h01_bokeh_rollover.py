"""ColumnDataSource.stream(rollover=12) keeps 12 rows (curves of 2048 points each); full at step 12."""
# report: "bokeh stream() in a training dashboard grows": with rollover it does not
# looks like: a dict of lists of arrays into which each step puts a new one
# library: bokeh
# /// healthy
# dumps = "steps"
# ///
import torch
from bokeh.models import ColumnDataSource

torch.manual_seed(0)
source = ColumnDataSource(data=dict(step=[], curve=[]))
net = torch.nn.Linear(64, 32)
opt = torch.optim.Adam(net.parameters())
for step in range(70):
    x = torch.randn(64, 64)
    out = net(x)
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    source.stream(dict(step=[step], curve=[out.detach().flatten().tolist()]), rollover=12)
print(len(source.data["curve"]))
