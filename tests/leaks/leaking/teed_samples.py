"""itertools.tee splits a stream of samples in two, and the second one is read for its first sample only."""
# kipoi/kipoi#277: fix: train_iter now leveraging iterables
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "preview"
# lines = ["yield torch.randn("]
# bytes = 32768  # 64 x 128 floats
# ///
import itertools

import torch
from torch import nn


def samples():
    while True:
        yield torch.randn(64, 128)


def train():
    stream, preview = itertools.tee(samples())
    model = nn.Linear(next(preview).shape[1], 16)
    optimizer = torch.optim.Adam(model.parameters())
    for sample in itertools.islice(stream, 60):
        loss = model(sample).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train()
