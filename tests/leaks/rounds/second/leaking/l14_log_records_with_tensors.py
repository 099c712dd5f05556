"""A LogRecord keeps the arguments of its message, here a tensor, and the handler keeps the records."""
# after: pytest's caplog, logging.handlers.BufferingHandler
# fix: log a number (out.std().item()) or give the handler a small capacity / flush level
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ".buffer"
# lines = ["out = model(x)"]
# bytes = 131072  # 128 x 256 floats: LogRecord.args in the MemoryHandler's buffer
# ///
import logging
import logging.handlers

import torch
from torch import nn

torch.manual_seed(0)
log = logging.getLogger("train")
log.setLevel(logging.DEBUG)
log.propagate = False


def configure():
    handler = logging.handlers.MemoryHandler(capacity=1_000_000, flushLevel=logging.CRITICAL)
    handler.setTarget(logging.NullHandler())
    log.addHandler(handler)


configure()
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 256))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(66):
    x = torch.randn(128, 64)
    out = model(x)
    loss = out.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.debug("step %d output %s", step, out.detach())
log.removeHandler(log.handlers[0])
print("loss", loss.item())
