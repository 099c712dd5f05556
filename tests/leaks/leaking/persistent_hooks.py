"""Each feature extractor registers a forward hook that stays after it: all of them go on recording what passes."""
# KamitaniLab/bdpy#72: Forward Hooks Persist After Destroying FeatureExtractor
# KamitaniLab/bdpy#91: Fix issue #72 Forward Hooks Persist After Destroying FeatureExtractor
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "_forward_hooks"
# lines = ["return torch.relu(self.block(image))"]
# bytes = 16384  # the block's output of 64 x 64 floats, recorded by every hook so far
# ///
import sys

import torch
from torch import nn


class FeatureExtractor:
    def __init__(self, encoder):
        self.features = []
        encoder.block.register_forward_hook(self.record)

    def record(self, module, inputs, output):
        self.features.append(output.detach())


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(64, 64)

    def forward(self, image):
        return torch.relu(self.block(image))


@torch.no_grad()
def reconstruct(encoder, image):
    extractor = FeatureExtractor(encoder)
    encoder(image)
    return extractor.features[-1].square().mean().item()


encoder = Encoder()
for line in sys.stdin:
    print(reconstruct(encoder, torch.randn(64, 64)), flush=True)
