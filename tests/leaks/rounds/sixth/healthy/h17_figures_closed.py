"""A figure every 4 steps, closed; SummaryWriter writes to disk; histograms of parameters."""
# looks like: native buffers of Agg, fonts and caches of matplotlib that warm up at the first figures
# library: matplotlib, tensorboard
# /// healthy
# dumps = "steps"
# ///
import tempfile
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
writer = SummaryWriter(tempfile.mkdtemp())
net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 32))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(62):
    x = torch.randn(128, 32)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    writer.add_scalar("loss", loss.item(), step)
    if step % 4 == 0:
        fig, ax = plt.subplots(figsize=(3, 2), dpi=80)
        ax.imshow(net[0].weight.detach().numpy())
        writer.add_figure("weights", fig, step, close=True)
        for name, p in net.named_parameters():
            writer.add_histogram(name, p, step)
writer.close()
