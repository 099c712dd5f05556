"""Generators of streams are started, looked at once, and never finished or closed."""
# after: serving: streaming responses of clients who left
# fix: generator.close() and del open_streams[client] when the client leaves
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls"]
# holders = ["open_streams", "frames", "feats"]
# lines = ["frames = torch.randn(64, 512)", "feats = torch.tanh(frames)"]
# bytes = 262144  # 64 x 512 floats of frames, and of feats
# ///
import torch
from torch import nn
import ask

torch.manual_seed(0)
head = nn.Linear(512, 16).requires_grad_(False)
open_streams = {}


def windows(frames):
    feats = torch.tanh(frames)
    for start in range(0, 64, 8):
        yield head(feats[start : start + 8]).mean().item()


def request(client):
    frames = torch.randn(64, 512)
    stream = windows(frames)
    open_streams[client] = stream
    return next(stream)


total = 0.0
for step in range(1, 67):
    total += request(f"client{step}")
    ask.at(step)
print("open", len(open_streams), total)
