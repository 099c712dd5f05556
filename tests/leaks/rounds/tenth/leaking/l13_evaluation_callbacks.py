"""Evaluation of a Thinc model with `begin_update`, whose backward callbacks are kept beside the scores."""
# kind: Closures returned by a library keep an autograd graph; no optimizer, with thinc.
# after: "thinc PyTorchWrapper memory during evaluation: use predict, not begin_update"
# fix: `predict` (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "scorer.results"  # `scorer.results` (list of tuples; the third entry is the callback `backprop`, whose closure keeps the torch output and its graph)
# lines = ["y, backprop = self.model.begin_update(x)"]
# bytes = 172032  # input 128 x 64, two hidden outputs 128 x 128 saved by the graph, output 128 x 16, all float32: 32768 + 2 x 65536 + 8192, the input is numpy's memory, shared by a tensor: 168.0 KiB = 172032
# ///
import os

import numpy as np
import torch
from thinc.api import PyTorchWrapper
from torch import nn

from ask import at


class Scorer:
    def __init__(self, model):
        self.model = model
        self.results = []

    def score(self, name, x):
        if os.environ.get("FIX"):
            y, backprop = self.model.predict(x), None
        else:
            y, backprop = self.model.begin_update(x)
        self.results.append((name, float(y.max()), backprop))


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 16))
    model = PyTorchWrapper(net)
    rng = np.random.default_rng(0)
    model.initialize(X=rng.standard_normal((4, 64), dtype=np.float32))
    scorer = Scorer(model)
    for i in range(1, 81):
        scorer.score("doc %d" % i, rng.standard_normal((128, 64), dtype=np.float32))
        at(i)
    print("best", max(r[1] for r in scorer.results))


if __name__ == "__main__":
    main()
