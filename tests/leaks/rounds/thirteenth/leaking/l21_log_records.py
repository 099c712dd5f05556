"""A logging handler buffers records, whose arguments are tensors."""
# kind: logger buffers records, with torch, logging
# after: "logging.handlers.MemoryHandler keeps my tensors" (records keep args until they are formatted)
# fix: capacity=10 (flushes every 10 records) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "buffered.buffer"  # buffered.buffer (logging.handlers.MemoryHandler: list of LogRecord, record.args)
# lines = ["per_class = probs.T @ probs", "probs = logits.detach().softmax(1)"]
# bytes = 32768  # args: probs 64x64x4 = 16384, per_class 64x64x4 = 16384: 32768; measured, bytes a step in 20..40, 40..60: tensors that gc sees 32768,32768, malloc in use 33896,33605, rss 39731,41164; with FIX: malloc 362,131, rss 1843,-409
# ///
import logging
import logging.handlers
import os
import torch
from torch import nn

torch.manual_seed(0)
log = logging.getLogger("train")
log.setLevel(logging.DEBUG)
log.propagate = False
buffered = logging.handlers.MemoryHandler(capacity=10 if os.environ.get("FIX") else 1_000_000,
                                          flushLevel=logging.ERROR, target=logging.NullHandler())
log.addHandler(buffered)
model = nn.Linear(30, 64)
opt = torch.optim.RMSprop(model.parameters(), 1e-3)
for step in range(70):
    x, y = torch.randn(64, 30), torch.randint(0, 64, (64,))
    logits = model(x)
    probs = logits.detach().softmax(1)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    per_class = probs.T @ probs
    opt.step()
    log.debug("confusion %s of %s", per_class, probs)
    if step % 20 == 0:
        print(step, loss.item(), "records", len(buffered.buffer))
