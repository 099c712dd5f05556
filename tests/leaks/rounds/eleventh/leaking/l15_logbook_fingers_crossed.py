"""Logger of a library; arguments of the records, with logbook."""
# after: "FingersCrossedHandler never triggers": it keeps all debug records until an error comes; buffer_size=0 is no limit
# fix: FingersCrossedHandler(..., buffer_size=10)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "handler.buffered_records"  # handler.buffered_records (deque of LogRecord; .kwargs / .args keep grads)
# lines = ["log.debug(\"step {} {} grad {}\", step, name, p.grad.clone())"]
# bytes = 37888  # 37888 (weight gradients 128x64 and 10x128 float32: 32768 + 5120 B)
# ///
import os

import torch
import torch.nn as nn
from logbook import ERROR, FingersCrossedHandler, Logger, StderrHandler

torch.manual_seed(0)
log = Logger("train")
handler = FingersCrossedHandler(StderrHandler(), action_level=ERROR, buffer_size=10 if os.environ.get("FIX") else 0,
                                pull_information=False)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        x, y = torch.randn(256, 64), torch.randint(10, (256,))
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        for name, p in model.named_parameters():
            if p.dim() == 2:
                log.debug("step {} {} grad {}", step, name, p.grad.clone())
        if not torch.isfinite(loss):
            log.error("loss is {}", loss)
        optimizer.step()
    return loss.item()


with handler.applicationbound():
    print("loss", round(train(Classifier(), 80), 3))
