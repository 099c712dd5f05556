"""Logger, with logging.handlers."""
# after: Stack Overflow "logging.handlers.MemoryHandler keeps growing" (no record reaches flushLevel, the capacity is huge)
# fix: handler.flush() every step (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "handler.buffer"  # `handler.buffer` (list of LogRecord, whose args keep the tensors)
# lines = ["gradient = net.weight.grad.clone()"]
# bytes = 36864  # 96 x 96 x 4 = 36864 a step; measured 36864 36864 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import logging
import logging.handlers
import os
import torch

torch.manual_seed(0)
target = logging.StreamHandler(open(os.devnull, "w"))
handler = logging.handlers.MemoryHandler(capacity=1000000, flushLevel=logging.ERROR, target=target)
logger = logging.getLogger("train")
logger.setLevel(logging.DEBUG)
logger.addHandler(handler)
logger.propagate = False
net = torch.nn.Linear(96, 96)
opt = torch.optim.Adam(net.parameters())


def train_step(step):
    x = torch.randn(16, 96)
    loss = (net(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    gradient = net.weight.grad.clone()  # LEAK
    opt.step()
    logger.debug("step %d loss %.4f gradient %s", step, loss.item(), gradient)


for step in range(70):
    train_step(step)
    if os.environ.get("FIX"):
        handler.flush()
print("done")
