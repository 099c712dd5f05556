"""Activations are compressed to bytes for a report after training; "compressed it cannot be much"."""
# kind: Bytes outside of tensors in a list of an object, with zstandard.
# after: "RAM grows although I store nothing on the GPU: list of compressed activations"
# fix: `collections.deque(maxlen=8)` (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "telemetry.frames"  # `telemetry.frames`
# lines = []
# bytes = 60720  # sys.getsizeof of the bytes objects: 256 x 64 float32 = 65536 raw, about 92 % of it compressed, 60 KiB a step: measured 60720 bytes (sys.getsizeof); 65 KiB of malloc
# ///
import collections
import os

import torch
import zstandard
from torch import nn


class Telemetry:
    def __init__(self):
        self.compressor = zstandard.ZstdCompressor(level=1)
        self.frames = collections.deque(maxlen=8) if os.environ.get("FIX") else []

    def record(self, module, inputs, output):
        raw = output.detach().numpy().tobytes()
        self.frames.append(self.compressor.compress(raw))


def main():
    torch.manual_seed(0)
    body = nn.Linear(64, 64)
    model = nn.Sequential(body, nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 3))
    telemetry = Telemetry()
    body.register_forward_hook(telemetry.record)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 91):
        loss = nn.functional.cross_entropy(model(torch.randn(256, 64)), torch.randint(3, (256,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(sum(map(len, telemetry.frames)), "bytes", loss.item())


if __name__ == "__main__":
    main()
