"""Frames of the exception: locals of evaluate and check (embedding, x, labels)."""
# after: exceptions are kept: traceback, frames, locals
# fix: append str(error) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["traceback", "container", "module-cache"]
# holder = "report.failures"  # report.failures[*][1].__traceback__
# lines = ["embedding = encoder(x)", "x = torch.randn(50, 64)", "labels = torch.randint(0, 11, (50,))"]  # embedding; x and labels
# bytes = [18620, 19600]  # about 19,000 measured (in 98 to 99 % of the steps 50x64x4 x + 50x32x4 embedding + 50x8 labels = 19,600: frames hold x, labels, embedding); x and labels are made in the loop; malloc 20,700; correction: 39 of the 40 steps from 20 to 60 fail: 19,110
# ///
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32)).eval()


class LabelError(ValueError):
    pass


def check(embedding, labels):
    low, high = labels.min().item(), labels.max().item()
    if high >= 10:
        raise LabelError(f"label {high} of {low}..{high} out of range")
    return embedding[labels == 1].mean()


def evaluate(x, labels):
    with torch.no_grad():
        embedding = encoder(x)
        return check(embedding, labels)


class Report:
    def __init__(self):
        self.failures = []
        self.ok = 0


report = Report()
for i in range(1, 701):
    x = torch.randn(50, 64)
    labels = torch.randint(0, 11, (50,))
    try:
        evaluate(x, labels)
        report.ok += 1
    except LabelError as error:
        report.failures.append((i, str(error) if os.environ.get("FIX") else error))
    at(i)
print(report.ok, len(report.failures))
