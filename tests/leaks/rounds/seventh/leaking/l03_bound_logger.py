"""Context of a logger, autograd graphs, with structlog."""
# after: structlog questions "bind() grows the context": the logger is bound again at every step with a key that contains the step, values are losses that were not item()ed
# fix: loss.item()
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "log._context"  # log._context (keys 'loss_<step>')
# lines = ["out = model(x)", "loss = nn.functional.cross_entropy(out, y)"]
# bytes = 181000  # saved tensors: x 25,600, relu 2 x 76,800, log_softmax 1,280, y 512, scalars 8; storages
# ///
import os

import structlog
import torch
import torch.nn as nn
from ask import at

structlog.configure(processors=[structlog.processors.KeyValueRenderer(key_order=["event"], sort_keys=False, repr_native_str=False)],
                    logger_factory=structlog.PrintLoggerFactory(open(os.devnull, "w")))
log = structlog.get_logger().bind(run="eval-7")

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 5))
for step in range(1, 71):
    x = torch.randn(64, 100)
    y = torch.randint(0, 5, (64,))
    # evaluation, somebody forgot no_grad
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    log = log.bind(**{f"loss_{step}": loss.item() if os.environ.get("FIX") else loss})
    if step % 10 == 0:
        log.info("evaluated", step=step)
    at(step)
