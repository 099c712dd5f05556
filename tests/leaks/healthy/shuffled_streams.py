"""Four streams of samples stay open, each a generator with a buffer of twelve that it draws from at random."""
# /// healthy
# dumps = "steps"
# ///
import random

import torch
from torch import nn


def shuffled(source, size):
    buffer = []
    for sample in source:
        if len(buffer) < size:
            buffer.append(sample)
            continue
        index = random.randrange(size)
        out, buffer[index] = buffer[index], sample
        yield out


def speech(number):
    while True:
        wave = torch.randn(1600)
        yield wave / wave.abs().max() * (number + 1)


def train():
    streams = [shuffled(speech(number), 12) for number in range(4)]
    model = nn.Sequential(nn.Linear(1600, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(60):
        batch = torch.stack([next(stream) for stream in streams])
        loss = nn.functional.cross_entropy(model(batch), torch.arange(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


random.seed(0)
train()
