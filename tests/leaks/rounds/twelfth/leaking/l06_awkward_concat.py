"""Ragged array outside tensors that is replaced by a larger one in each step, with awkward."""
# after: "ak.concatenate in a loop: the ragged log of kept activations grows" (awkward-array discussions; ragged logs of detections)
# fix: start anew after every report (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "log._layout"  # `log` (ak.Array; its buffers are numpy arrays: layout.offsets, layout.content)
# lines = []
# bytes = 32358  # about 128 x 64 / 2 x 8 + 1 KiB = 33 KiB (allocated bytes, 32.2 measured), outside of tensors; correction: 31.6 KiB: content 30.59, offsets 1.0
# ///
import os

import awkward as ak
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
log = None

for step in range(1, 71):
    x = torch.randn(128, 32)
    out = net(x)
    loss = (out[:, :32] - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept = out.detach() > 0
    flat = ak.from_numpy(out.detach()[kept].numpy().astype("float64"))
    rows = ak.unflatten(flat, kept.sum(1).numpy())
    log = rows if log is None else ak.concatenate([log, rows])
    if step % 10 == 0:
        print(step, float(ak.mean(ak.num(log))))
        if os.environ.get("FIX"):
            log = None
