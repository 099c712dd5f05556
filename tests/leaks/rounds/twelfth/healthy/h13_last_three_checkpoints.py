"""Every 5 steps a new one, the oldest goes; full at step 15."""
# report: "in-memory checkpoints" (keep_last_n=3, as bytes of torch.save)
# library: torch
# /// healthy
# dumps = "steps"
# ///
import io
from collections import OrderedDict

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
opt = torch.optim.AdamW(net.parameters())
kept = OrderedDict()
for step in range(1, 71):
    x = torch.randn(32, 64)
    loss = (net(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        buffer = io.BytesIO()
        torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, buffer)
        kept[step] = buffer.getvalue()
        if len(kept) > 3:
            kept.popitem(last=False)
print(list(kept), len(kept[70]))
