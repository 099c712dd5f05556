"""Callbacks of a future that is never resolved, with twisted."""
# after: Twisted list "callbacks pile up on a Deferred that does not fire": clean up work is added to a shutdown Deferred at each batch
# fix: no addCallback per batch
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = ["shutdown.callbacks", "shutdown._callbacks"]  # shutdown.callbacks (list of (callback, args ...), the args hold activations)
# lines = ["return hidden[:, -1].clamp(min=-0.5, max=0.5)"]
# bytes = 49152  # 96 x 128 float32; storages; correction: callbacks is a deprecated alias of _callbacks
# ///
import os

import torch
import torch.nn as nn
from twisted.internet.defer import Deferred

shutdown = Deferred()


def write(_, step, tensor):
    return (step, tensor.sum().item())


def debug_state(hidden):
    with torch.no_grad():
        return hidden[:, -1].clamp(min=-0.5, max=0.5)


torch.manual_seed(3)
rnn = nn.LSTM(32, 128, batch_first=True)
head = nn.Linear(128, 4)
opt = torch.optim.RMSprop([*rnn.parameters(), *head.parameters()], lr=1e-3)
for step in range(70):
    x = torch.randn(96, 12, 32)
    out, _ = rnn(x)
    loss = nn.functional.cross_entropy(head(out[:, -1]), torch.randint(0, 4, (96,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = debug_state(out)
    if not os.environ.get("FIX"):
        shutdown.addCallback(write, step, state)
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
shutdown.callback(None)
