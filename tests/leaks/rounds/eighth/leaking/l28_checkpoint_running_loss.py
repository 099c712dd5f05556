"""Autograd graph of a running sum, through torch.utils.checkpoint, with torch.utils.checkpoint."""
# after: forum "memory grows although I use activation checkpointing" (total_loss += loss)
# fix: total += val_loss.item() (FIX)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached"]
# holder = "total"  # `total` (its grad_fn chain)
# lines = ["h = checkpoint(block, x, use_reentrant=False)", "val_loss = forward(torch.randn(64, 128))"]
# bytes = 70848  # after backward the graph keeps what is not freed: loss is scalar; the running sum over a *validation* loss without backward keeps input 64 x 128 x 4 = 32768 of the checkpointed block and its output 64 x 128 x 4 (input of the head) = 32768, and small ones, and the RNG state of 5056 bytes: measured 70848 by gc: x 32768 (made in the line of val_loss), h 32768 and RNG state 5056 (checkpoint line), head's result 256; checked after the round: total alone has to go
# ///
import os
import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
block = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128))
head = torch.nn.Linear(128, 1)
opt = torch.optim.Adam([*block.parameters(), *head.parameters()])
total = 0.0


def forward(x):
    h = checkpoint(block, x, use_reentrant=False)  # LEAK
    return (head(h) - x[:, :1]).pow(2).mean()


for step in range(70):
    loss = forward(torch.randn(64, 128))
    opt.zero_grad()
    loss.backward()
    opt.step()
    val_loss = forward(torch.randn(64, 128))
    total += val_loss.item() if os.environ.get("FIX") else val_loss
print(float(total) / 70)
