"""A handler of the logging module keeps records for a later report, and a record keeps the arguments of its message."""
# pytest-dev/pytest#8307: Cannot use python logging without maintaining all records in caplog
# dask/distributed#6352: `pytest`'s`LogCaptureHandler` prevents garbage collection of `Worker` instances (and others)
# googleapis/python-logging#49: Possibly memory leak with Flexible log handler
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "records"
# lines = ["probabilities = torch.softmax("]
# bytes = 16384  # 32 x 128 floats
# ///
import logging
import sys

import torch
from torch import nn


class CaptureHandler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


logging.getLogger("serving").addHandler(CaptureHandler())
logging.getLogger("serving").setLevel(logging.DEBUG)
model = nn.Linear(64, 128).eval()


@torch.no_grad()
def answer():
    probabilities = torch.softmax(model(torch.randn(32, 64)), dim=1)
    logging.getLogger("serving").debug("probabilities: %s", probabilities)
    return probabilities.argmax(dim=1)[0].item()


for line in sys.stdin:
    print(answer(), flush=True)
