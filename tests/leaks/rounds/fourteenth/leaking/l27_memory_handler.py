"""Logging: records' args, a loss with its graph."""
# after: log records keep the tensors that are their arguments (MemoryHandler with a huge capacity)
# fix: capacity=8 / log held_out.item() (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache", "accumulated-graph", "state-not-detached"]
# holder = "handler.buffer"  # handler.buffer[*].args
# lines = ["held_out = model(torch.randn(80, 40)).logsumexp(1).mean()"]
# bytes = 65924  # 65,924 measured: tanh 80x160x4 = 51,200 + input 80x40x4 = 12,800 + logits 80x5x4 + small; malloc 75,100 (upper end)
# ///
import logging
import logging.handlers
import os
import torch
from torch import nn

handler = logging.handlers.MemoryHandler(capacity=8 if os.environ.get("FIX") else 1_000_000, flushLevel=logging.ERROR, target=logging.NullHandler())
log = logging.getLogger("train")
log.setLevel(logging.DEBUG)
log.addHandler(handler)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(40, 160), nn.Tanh(), nn.Linear(160, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 201):
    x = torch.randn(100, 40)
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, x[:, :5].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    held_out = model(torch.randn(80, 40)).logsumexp(1).mean()
    log.debug("step %d train %.3f held-out energy %s", step, loss.item(), held_out)
print(loss.item())
