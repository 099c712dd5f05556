"""The hidden state goes from batch to batch undetached, so its graph reaches back to the first one."""
# pytorch/pytorch#2198: Memory leak problem in LSTM and RNN
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached"]
# holder = "hidden"
# lines = ["output, hidden = rnn("]
# bytes = [16384, 163840]  # 16 x 64 floats: the input, gates of four times that before and after, states, products, their aliases
# ///
import sys

import torch
from torch import nn

rnn = nn.LSTM(64, 64)
hidden = None
for line in sys.stdin:
    data = torch.rand(1, 16, 64)
    output, hidden = rnn(data, hidden)
    print(f"{output.mean().item():.4f}", flush=True)
