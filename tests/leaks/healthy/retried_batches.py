"""A step that fails is tried again with half of the batch; the errors are kept as text."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class TooLarge(RuntimeError):
    pass


def forward(model, x, limit):
    hidden = model[0](x)
    if len(x) > limit:
        raise TooLarge(f"{len(x)} rows, {limit} fit")
    return model[1](hidden.relu())


def train_step(model, optimizer, x, limit, errors):
    while True:
        try:
            loss = forward(model, x, limit).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()
        except TooLarge as error:
            errors.append(str(error))
            x = x[:len(x) // 2]


model = nn.ModuleList([nn.Linear(128, 128), nn.Linear(128, 8)])
optimizer = torch.optim.Adam(model.parameters())
errors = []
for step in range(60):
    train_step(model, optimizer, torch.randn(512, 128), 512 >> step % 3, errors)
