"""A view of one row keeps a whole batch's storage, with captum (IntegratedGradients)."""
# after: captum issue "memory grows when I store attributions of one sample for each batch" (a row of a batch keeps the batch)
# fix: keep attr[0].clone()
# /// leak
# dumps = "asks"
# kinds = ["small-view", "container", "module-cache"]
# holder = "gallery.by_class"  # gallery.by_class[*][*]
# lines = ["attr = ig.attribute(images, target=target, n_steps=8)"]
# bytes = 24576  # storage of the whole batch 8*3*16*16*4; the visible row is 3072
# ///
import os
from collections import defaultdict
import torch
from torch import nn
from captum.attr import IntegratedGradients
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 5)).eval()
ig = IntegratedGradients(model)


class Gallery:
    """One example of an explanation for each class and batch, shown at the end."""

    def __init__(self):
        self.by_class = defaultdict(list)

    def add(self, label, attr):
        self.by_class[int(label)].append(attr)


gallery = Gallery()
for i in range(1, 64):
    images = torch.rand(8, 3, 16, 16)
    target = model(images).argmax(1)
    attr = ig.attribute(images, target=target, n_steps=8)
    gallery.add(target[0], attr[0].clone() if os.environ.get("FIX") else attr[0])
    at(i)
print({k: len(v) for k, v in gallery.by_class.items()})
