"""The sink keeps the last 100 records in a deque (10 a step: full at step 10), for a crash report."""
# looks like: records with tensors that are appended in each step
# library: loguru
# /// healthy
# dumps = "steps"
# ///
from collections import deque
import torch
from loguru import logger
from torch import nn

torch.manual_seed(0)
recent = deque(maxlen=100)
logger.remove()
logger.add(lambda m: recent.append(m.record), level="DEBUG")
layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(9)])
head = nn.Linear(64, 4)
opt = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=0.01)
for step in range(64):
    h = torch.randn(32, 64)
    for k, layer in enumerate(layers):
        h = torch.relu(layer(h))
        logger.bind(layer=k, act=h.detach()).debug("forward")
    loss = nn.functional.cross_entropy(head(h), torch.randint(0, 4, (32,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    logger.bind(loss=loss.item()).info("step {}", step)
print(len(recent))
