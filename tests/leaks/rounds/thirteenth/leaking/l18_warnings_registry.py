"""Warnings whose text is different each time: Python remembers every text."""
# kind: plain text in a registry of Python, with torch, warnings
# after: cpython issue kind "__warningregistry__ grows for ever with dynamic messages"
# fix: warnings.warn("odd gradients") (constant text) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "__warningregistry__"  # __warningregistry__ (global of this module)
# lines = []
# bytes = 8077  # one str of the tensor's repr a step: 32x16 values, some 9 to 10 chars each with blanks (ASCII): about 5 to 6 KiB, and the key's tuple (64). (counted: sys.getsizeof of the texts); measured, bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 8136,8017, rss 9216,8396; with FIX: malloc 211,60, rss 3481,0
# ///
import io
import os
import sys
import warnings
import torch
from torch import nn

torch.manual_seed(0)
torch.set_printoptions(threshold=10**6)
sink = io.StringIO()


def show(message, category, filename, lineno, file=None, line=None):
    sink.seek(0)
    sink.write(str(message)[:80])


warnings.showwarning = show
model = nn.Linear(16, 32)
opt = torch.optim.SGD(model.parameters(), 0.1)
for step in range(1, 71):
    x = torch.randn(8, 16)
    loss = (model(x) - x.repeat(1, 2)).abs().mean()
    opt.zero_grad()
    loss.backward()
    text = "" if os.environ.get("FIX") else str(model.weight.grad)
    warnings.warn("odd gradients: " + text)  # noqa: B028 - as it was run
    opt.step()
    if step % 20 == 0:
        texts = [k[0] for k in __warningregistry__ if isinstance(k, tuple)]
        print(step, loss.item(), "texts", len(texts), sum(map(sys.getsizeof, texts)) // max(1, len(texts)))
