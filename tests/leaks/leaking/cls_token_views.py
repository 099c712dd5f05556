"""The first token of each batch is kept: a view, which keeps the activations of all tokens."""
# ViCCo-Group/thingsvision#150: Memory leak fix when only extracting cls token
# pytorch/pytorch#50432: Sizes of the tensors in the GC sum to much less than the memory allocated by PyTorch
# /// leak
# dumps = "requests"
# kinds = ["small-view"]
# holder = "features"
# lines = ["return self.mix("]
# bytes = 262144  # 8 x 64 tokens x 128 floats
# ///
import sys

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(16, 128)
        self.mix = nn.Linear(128, 128)

    def forward(self, patches):
        return self.mix(torch.relu(self.embed(patches)))


@torch.no_grad()
def extract(encoder, patches):
    return encoder(patches)[:, 0]


encoder = Encoder().eval()
features = []
for line in sys.stdin:
    features.append(extract(encoder, torch.rand(8, 64, 16)))
    print(len(features), flush=True)
