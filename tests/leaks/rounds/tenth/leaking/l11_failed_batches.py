"""Robust training on dirty data: each bad batch gives a Failure, collected for a report at the end."""
# kind: Exceptions with tracebacks; local variables of frames, with returns (@safe).
# after: "Keeping exceptions keeps all the frames: memory leak when I collect errors"
# fix: append `str(result.failure())` (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["traceback", "container", "module-cache"]
# holder = "report.failures"  # `report.failures` (list of Failure; each `.failure().__traceback__` keeps the frame of `forward_loss` with `x`, `h` and the graph)
# lines = ["h = model.encoder(x)", "x, y = torch.randn(64, 80), torch.randint(5, (64,))"]
# bytes = 123904  # two of three batches fail; a failed one keeps x 64 x 80 float32 (20480) and h 64 x 160 (40960; the ReLU's output, which the graph saves as well): 121.0 KiB = 2 x (20480 + 40960 + 512 of y)
# ///
import os

import torch
from returns.pipeline import is_successful
from returns.result import safe
from torch import nn


class Report:
    def __init__(self):
        self.failures = []

    def add(self, step, result):
        if os.environ.get("FIX"):
            self.failures.append((step, str(result.failure())))
        else:
            self.failures.append((step, result))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(80, 160), nn.ReLU())
        self.head = nn.Linear(160, 5)


@safe
def forward_loss(model, x, y):
    h = model.encoder(x)
    if y.max() >= 5:
        raise ValueError("label %d out of range" % y.max())
    return nn.functional.cross_entropy(model.head(h), y)


def main():
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    report = Report()
    good = 0
    for step in range(1, 91):
        for micro in range(3):
            x, y = torch.randn(64, 80), torch.randint(5, (64,))
            if micro:
                y[0] = 7 + micro
            result = forward_loss(model, x, y)
            if not is_successful(result):
                report.add(step, result)
                continue
            loss = result.unwrap()
            good += 1
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(good, "good", len(report.failures), "bad")


if __name__ == "__main__":
    main()
