"""Registry of loggers with a filter that has the request's context, with Python's logging."""
# after: "logging.getLogger(f'request.{id}') per request: loggers are never garbage collected" (Python issue, servers)
# fix: one logger, and logger.removeFilter(context) at the end of the request
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "loggerDict"  # logging.Logger.manager.loggerDict['serve.<n>'] (its filters[0].context)
# lines = ["features = model(torch.randn(32, 64))"]
# bytes = 65536  # 2 requests a step, each 32*256*4 = 32 KiB: 64 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 64.0, 64.0; all malloc'd 68.0, 67.6 (with FIX: 0.0, 0.0; 0.8, 0.2)
# ///
import logging
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
logging.basicConfig(level=logging.WARNING, format="%(name)s %(norm)s %(message)s")
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256)).eval()


class RequestContext(logging.Filter):
    def __init__(self, features):
        super().__init__()
        self.context = features

    def filter(self, record):
        record.norm = f"{self.context.norm().item():.2f}"
        return True


def handle(n):
    with torch.no_grad():
        features = model(torch.randn(32, 64))
    log = logging.getLogger("serve" if os.environ.get("FIX") else f"serve.{n}")
    context = RequestContext(features)
    log.addFilter(context)
    if n % 50 == 0:
        log.warning("request %d done", n)
    log.info("answer %s", features[0, 0])
    if os.environ.get("FIX"):
        log.removeFilter(context)


for step in range(1, 121):
    handle(2 * step)
    handle(2 * step + 1)
    at(step)
