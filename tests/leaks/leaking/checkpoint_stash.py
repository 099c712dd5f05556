"""Activation checkpointing stashes inputs in a list of the module; evaluation never runs the backward that clears it."""
# deepspeedai/DeepSpeed#1698: Fix memory leak w. activation checkpointing
# /// leak
# dumps = "steps"
# kinds = ["module-cache", "container"]
# holder = "stashed"
# lines = ["hidden = stem("]
# bytes = 32768  # 128 x 64 floats
# ///
import torch
from torch import nn

stashed = []


def checkpoint(function, tensor):
    stashed.append(tensor.detach())
    return function(tensor)


def clear_after_backward():
    stashed.pop()


stem, block = nn.Linear(32, 64), nn.Sequential(nn.Linear(64, 64), nn.ReLU())
optimizer = torch.optim.SGD([*stem.parameters(), *block.parameters()], lr=0.01)


def forward(batch):
    hidden = stem(batch)
    return checkpoint(block, hidden).mean()


for step in range(60):
    loss = forward(torch.randn(128, 32))
    optimizer.zero_grad()
    loss.backward()
    clear_after_backward()
    with torch.no_grad():
        forward(torch.randn(128, 32))
    optimizer.step()
