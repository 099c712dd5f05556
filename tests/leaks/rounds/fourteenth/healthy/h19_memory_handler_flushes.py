"""logging's MemoryHandler(capacity=12): records with tensors (loss with its graph) as arguments are held until 12 are there, then flushed. Saw-tooth: 8, 4, 0 records at steps 20, 40, 60, each with a freed graph (a few KB)."""
# /// healthy
# dumps = "steps"
# ///
import logging
import logging.handlers
import torch
from torch import nn

handler = logging.handlers.MemoryHandler(capacity=12, flushLevel=logging.ERROR, target=logging.NullHandler())
log = logging.getLogger("train")
log.setLevel(logging.DEBUG)
log.addHandler(handler)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(40, 160), nn.Tanh(), nn.Linear(160, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 201):
    x = torch.randn(100, 40)
    loss = nn.functional.cross_entropy(model(x), x[:, :5].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.debug("step %d loss %s", step, loss)
print(loss.item(), len(handler.buffer))
