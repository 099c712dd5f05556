"""A normalizing flow; beside training, the validation likelihood is summed up with its graph."""
# kind: Autograd graph of every step kept by a running sum; defaultdict of an object, with zuko.
# after: "CUDA out of memory after some validation steps: total_loss += loss" in the guise of a flow (zuko)
# fix: `float(value)` in `Meter.add` (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "meter.sums['val_nll']"  # `meter.sums['val_nll']` (its grad_fn chain)
# lines = ["val = -flow(val_c).log_prob(val_x).mean()"]
# bytes = 132096  # saved tensors of the validation forward that no backward frees, measured by walking the graph: 129.0 KiB of saved tensors a step (1400 / 20 = 70 graph nodes a step; malloc in use 191 KiB with the nodes)
# ///
import os
from collections import defaultdict

import torch
import zuko


class Meter:
    def __init__(self):
        self.sums = defaultdict(float)
        self.counts = defaultdict(int)

    def add(self, name, value):
        if os.environ.get("FIX"):
            value = float(value)
        self.sums[name] += value
        self.counts[name] += 1

    def mean(self, name):
        return self.sums[name] / self.counts[name]


def main():
    torch.manual_seed(0)
    flow = zuko.flows.MAF(features=6, context=4, transforms=2, hidden_features=(64, 64))
    opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
    meter = Meter()
    val_x, val_c = torch.randn(64, 6), torch.randn(64, 4)
    for step in range(1, 81):
        x, c = torch.randn(256, 6), torch.randn(256, 4)
        loss = -flow(c).log_prob(x).mean()
        opt.zero_grad()
        loss.backward()
        meter.add("train_nll", loss.detach())
        flow.eval()
        val = -flow(val_c).log_prob(val_x).mean()
        meter.add("val_nll", val)
        flow.train()
        opt.step()
    print("val", float(meter.mean("val_nll")), "train", float(meter.mean("train_nll")))


if __name__ == "__main__":
    main()
