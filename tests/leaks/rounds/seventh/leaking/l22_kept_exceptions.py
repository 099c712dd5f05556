"""Exceptions and their frames, with torch."""
# after: forum "memory grows when I skip bad batches": exceptions are kept in a list for a summary; their tracebacks keep the frames and the tensors in them
# fix: skipped.append((step, repr(e)))
# /// leak
# dumps = "steps"
# kinds = ["traceback", "container", "module-cache"]
# holder = "skipped"  # skipped (list of (step, exception): exception.__traceback__ -> frames of train_step: hidden, logits, loss ...)
# lines = ["hidden = encoder(x)", "logits = head(hidden)", "train_step(encoder, head, torch.randn(50, 60) * 5, y)"]
# bytes = 74008  # x 12,000, relu 40,000, hidden 20,000, logits 800, log_softmax 800, y 400, scalars 8; storages
# ///
import os

import torch
import torch.nn as nn


class BadBatch(ValueError):
    pass


def check(loss, logits):
    spread = logits.detach().std().item()
    if spread < 1e9:  # in this data set: all
        raise BadBatch(f"spread {spread:.3f}")


def train_step(encoder, head, x, y):
    hidden = encoder(x)
    logits = head(hidden)
    loss = nn.functional.cross_entropy(logits, y)
    check(loss, logits)
    return loss


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(60, 200), nn.ReLU(), nn.Linear(200, 100))
    head = nn.Linear(100, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    skipped = []
    for step in range(66):
        x = torch.randn(50, 60)
        y = torch.randint(0, 4, (50,))
        good = nn.functional.cross_entropy(head(encoder(x)), y)
        opt.zero_grad()
        good.backward()
        try:
            train_step(encoder, head, torch.randn(50, 60) * 5, y)
        except BadBatch as e:
            skipped.append((step, repr(e) if os.environ.get("FIX") else e))
        opt.step()
        if step % 20 == 0:
            print(step, good.item(), len(skipped), flush=True)


main()
