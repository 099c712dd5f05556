"""Events go through a queue of at most 10 entries to a file, nothing stays; first use imports and makes buffers."""
# report: "SummaryWriter.add_histogram leaks?": histograms of all weights in every step
# library: tensorboard (torch.utils.tensorboard)
# /// healthy
# dumps = "steps"
# ///
import shutil
import tempfile

import torch
import torch.nn as nn
from torch.utils.tensorboard import SummaryWriter

folder = tempfile.mkdtemp()
writer = SummaryWriter(folder, max_queue=10, flush_secs=5)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 26 * 26, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(66):
    x = torch.rand(32, 1, 28, 28)
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 10, (32,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    writer.add_scalar("loss", loss, step)
    for name, p in net.named_parameters():
        writer.add_histogram(name, p, step)
    writer.add_image("input", x[0], step)
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
writer.close()
shutil.rmtree(folder)
