"""Bytes in one BytesIO, with torch.save."""
# after: "torch.save into the same BytesIO each step: buffer grows" (seek(0)/truncate(0) forgotten before the next upload)
# fix: buffer.seek(0); buffer.truncate() (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "uploader.buffer"  # `uploader.buffer` (io.BytesIO)
# lines = []
# bytes = [34816, 35840]  # about 36 KiB (the size of a saved file; 32 to 39 KiB allocated bytes: the buffer is enlarged in leaps), outside of tensors; correction: 34.0 KiB of content, 35.0 of the buffer
# ///
import io
import os
import zlib

import torch
import torch.nn as nn


class Uploader:
    def __init__(self):
        self.buffer = io.BytesIO()
        self.sums = []

    def push(self, model):
        start = self.buffer.tell()
        torch.save(model.state_dict(), self.buffer)
        self.sums.append(zlib.crc32(self.buffer.getbuffer()[start:]))
        self.sums = self.sums[-5:]
        if os.environ.get("FIX"):
            self.buffer.seek(0)
            self.buffer.truncate()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(40, 100), nn.ReLU(), nn.Linear(100, 40))
opt = torch.optim.Adam(net.parameters())
uploader = Uploader()
for step in range(1, 71):
    x = torch.randn(32, 40)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    uploader.push(net)
print(uploader.sums[-1])
