"""Requests that fail are caught and counted; nothing keeps the exception."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch
from torch import nn

model = nn.Linear(64, 64).requires_grad_(False)
failures = 0
for line in sys.stdin:
    try:
        x = model(torch.randn(128, 64))
        if int(line) % 2:
            raise ValueError("odd")
    except ValueError as error:
        failures += len(str(error)) > 0
    print(failures, flush=True)
