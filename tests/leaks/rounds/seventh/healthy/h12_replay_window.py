"""At most 6 predictions are kept (full after step 6)."""
# report: "ReplaySubject and late subscribers": with buffer_size=6 the buffer is bounded
# library: reactivex
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from reactivex import operators as ops
from reactivex.subject import ReplaySubject

torch.manual_seed(0)
feed = ReplaySubject(buffer_size=6)
smooth = []
feed.pipe(ops.buffer_with_count(4, 1), ops.map(lambda b: torch.stack(b).mean(0))).subscribe(lambda t: smooth.append(t.mean().item()))
net = nn.Sequential(nn.Linear(24, 96), nn.GELU(), nn.Linear(96, 50))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(70):
    x = torch.randn(200, 24)
    out = net(x)
    loss = (out.mean(1) - x.mean(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    feed.on_next(out.detach())
    if step % 20 == 0:
        print(step, loss.item(), len(smooth), flush=True)
