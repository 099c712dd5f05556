"""Predictions are collected and written to a file in shards of nine batches; what a shard had is freed then."""
# /// healthy
# dumps = "requests"
# ///
import sys
import tempfile

import torch
from torch import nn

net = nn.Linear(32, 128).eval()
shard = []
with tempfile.TemporaryFile() as file:
    for line in sys.stdin:
        with torch.no_grad():
            shard.append(net(torch.randn(64, 32)))
        if len(shard) == 9:
            torch.save(shard, file)
            shard.clear()
        print(len(shard), flush=True)
