"""Exceptions are kept for a report: their tracebacks keep the frames, and so the tensors."""
# after: python/cpython: documentation of tracebacks, and many reports
# fix: keep str(err) (or err.with_traceback(None))
# /// leak
# dumps = "steps"
# kinds = ["traceback"]
# holder = "rejected"
# lines = ["feats = torch.tanh(encoder(batch))"]
# bytes = 122880  # 96 x 256 floats of feats, 96 x 64 of batch: both variables of score()
# ///
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(64, 256).requires_grad_(False)
model = nn.Linear(64, 8)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
rejected = []


def score(batch):
    feats = torch.tanh(encoder(batch))
    spread = feats.std().item()
    if spread > 0.2:
        raise ValueError(f"batch is too spread: {spread:.3f}")
    return spread


def check(batch):
    try:
        return score(batch)
    except ValueError as err:
        rejected.append(err)
        return 0.0


for step in range(66):
    check(torch.randn(96, 64) * 9)
    good = torch.randn(96, 64)
    loss = model(good).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("rejected", len(rejected))
