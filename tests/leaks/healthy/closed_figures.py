"""A registry of figures, each closed when it was drawn; one overview of the first step stays open."""
# /// healthy
# dumps = "steps"
# ///
import collections

import torch
from torch import nn


class Figure:
    def __init__(self, number):
        self.number, self.images = number, []

    def imshow(self, array):
        self.images.append(array[::-1])


class Gcf:
    figs = collections.OrderedDict()
    numbers = 0

    @classmethod
    def figure(cls):
        cls.numbers += 1
        cls.figs[cls.numbers] = Figure(cls.numbers)
        return cls.figs[cls.numbers]

    @classmethod
    def close(cls, figure):
        del cls.figs[figure.number]


decoder = nn.Linear(64, 128)
optimizer = torch.optim.Adam(decoder.parameters())
for step in range(60):
    spectrogram = decoder(torch.randn(80, 64))
    loss = (spectrogram - 1).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    figure = Gcf.figure()
    figure.imshow(spectrogram.detach().numpy())
    if step > 0:
        Gcf.close(figure)
