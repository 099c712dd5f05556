"""lru_cache on a method: the cache of the class holds every model that was ever asked, with its weights."""
# huggingface/transformers#45708: fix(pytorch_utils): per-instance lru_cache to fix RT-DETR memory leak
# meta-pytorch/botorch#1650: Don't use functools.lru_cache on methods
# /// leak
# dumps = "requests"
# kinds = ["module-cache", "container"]
# holder = "lru_cache"
# lines = ["self.project = nn.Linear("]
# bytes = 43264  # weights of 64 x 128 and 128 floats, anchors of 64 x 40 floats
# ///
import functools
import sys

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(64, 128)

    @functools.lru_cache(maxsize=None)
    def anchors(self, height, width):
        return torch.ones(64, height * width)

    def forward(self, image):
        return self.project(image).sum() + self.anchors(8, 5).sum()


for line in sys.stdin:
    detector = Detector()
    with torch.no_grad():
        score = detector(torch.rand(4, 64)).item()
    print(score, flush=True)
