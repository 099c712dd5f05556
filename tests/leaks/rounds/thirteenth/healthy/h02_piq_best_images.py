"""Never more than 4 images in the heap `best`."""
# about: An autoencoder's best 4 reconstructions by SSIM are kept.
# kind: heap of the best
# looks like: images kept over many steps, replaced now and then
# library: piq
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 522,213, rss -409,2252
# /// healthy
# dumps = "steps"
# ///
import heapq
import piq
import torch
from torch import nn

torch.manual_seed(0)
auto = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1), nn.Sigmoid())
opt = torch.optim.Adam(auto.parameters(), 1e-2)
best = []
for step in range(1, 71):
    x = torch.rand(2, 3, 48, 48)
    out = auto(x)
    score = piq.ssim(out, x, data_range=1.0)
    loss = 1 - score
    opt.zero_grad()
    loss.backward()
    opt.step()
    heapq.heappush(best, (score.item(), step, out.detach()[0].clone()))
    if len(best) > 4:
        heapq.heappop(best)
    if step % 20 == 0:
        print(step, [round(b[0], 3) for b in best])
