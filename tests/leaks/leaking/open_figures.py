"""A registry of figures has every figure that was not closed, with the images that were drawn in it as arrays of numpy."""
# pytorch/pytorch#43616: Potential tensorboard leak even when calling add_figure(..., close=True)
# Tomiinek/Multilingual_Text_to_Speech#19: Memory leak
# AIS-Bonn/OCVP-object-centric-video-prediction#3: Fixed memory leak related to matplotlib.
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "figs"
# lines = ["spectrogram = decoder("]
# bytes = 40960  # 80 x 128 floats
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

    @classmethod
    def figure(cls):
        number = len(cls.figs) + 1
        cls.figs[number] = Figure(number)
        return cls.figs[number]


encoder, decoder = nn.Linear(40, 64), nn.Linear(64, 128)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
for step in range(60):
    hidden = torch.relu(encoder(torch.randn(80, 40)))
    spectrogram = decoder(hidden)
    loss = (spectrogram - 1).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    Gcf.figure().imshow(spectrogram.detach().numpy())
