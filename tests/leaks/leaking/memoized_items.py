"""A wrapper that skips broken items memoizes all the others: after an epoch the whole data set is in memory."""
# msamogh/nonechucks#13: Memory leak
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "known"
# lines = ["return torch.randn("]
# bytes = 98304  # a batch of eight images, 3 x 32 x 32 floats
# ///
import functools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def memoize(function):
    known = {}

    @functools.wraps(function)
    def wrapped(self, index):
        if index not in known:
            known[index] = function(self, index)
        return known[index]
    return wrapped


class Images(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, index):
        return torch.randn(3, 32, 32)


class SafeDataset(Dataset):
    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    @memoize
    def __getitem__(self, index):
        return self.dataset[index]


model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, images in enumerate(DataLoader(SafeDataset(Images()), batch_size=8, shuffle=True), 1):
    loss = model(images).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 60:
        break
