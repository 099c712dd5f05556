"""A handler of the logging module keeps the last fifteen records, with the tensors that are their arguments."""
# /// healthy
# dumps = "requests"
# ///
import collections
import logging
import sys

import torch
from torch import nn


class RecentHandler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = collections.deque(maxlen=15)

    def emit(self, record):
        self.records.append(record)


logging.getLogger("serving").addHandler(RecentHandler())
logging.getLogger("serving").setLevel(logging.DEBUG)
model = nn.Linear(64, 128).eval()
for line in sys.stdin:
    with torch.no_grad():
        probabilities = torch.softmax(model(torch.randn(32, 64)), dim=1)
    logging.getLogger("serving").debug("probabilities: %s", probabilities)
    print(probabilities.argmax().item(), flush=True)
