"""A circuit breaker's listener keeps the failures, with all that their tracebacks refer to."""
# kind: exceptions kept, frames hold tensors, with pybreaker
# after: "exceptions stored in a list keep tensors alive" (traceback -> frame -> locals)
# fix: self.failures.append(repr(exc)) (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["traceback", "container", "module-cache"]
# holder = "monitor.failures"  # monitor.failures (list of exceptions: __traceback__.tb_frame.f_locals of `infer`: x, features)
# lines = ["features = torch.relu(backbone(x))", "x = torch.randn(16, 256)"]  # features, x
# bytes = 60211  # each step fails once: x 16x256x4 = 16384 + features 16x512x4 = 32768 = 49152, and through the frame of `serve` the x of its last pass where that is another one (2 of 3 steps: 10923 on average): 60075; measured, bytes a step in 20..40, 40..60: tensors that gc sees 60620,59801, malloc in use 62200,61031, rss 66969,65126; with FIX: malloc 260,149, rss 1433,0; correction: 60,620 from step 20 to 40, 59,801 from 40 to 60
# ///
import os
import pybreaker
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
backbone, head = nn.Linear(256, 512), nn.Linear(512, 4)


class Monitor(pybreaker.CircuitBreakerListener):
    def __init__(self):
        self.failures = []

    def failure(self, cb, exc):
        self.failures.append(repr(exc) if os.environ.get("FIX") else exc)


@torch.no_grad()
def infer(x):
    features = torch.relu(backbone(x))
    if not torch.isfinite(features).all():
        raise ValueError("features are not finite")
    return head(features)


monitor = Monitor()
breaker = pybreaker.CircuitBreaker(fail_max=10**6, listeners=[monitor])


def serve(i):
    bad = 0
    for k in range(3):
        x = torch.randn(16, 256)
        if k == i % 3:
            x[0, 0] = float("nan")
        try:
            breaker.call(infer, x)
        except ValueError:
            bad += 1
    return bad


for i in range(1, 71):
    n = serve(i)
    if i % 20 == 0:
        print(i, "failures", len(monitor.failures), n)
    at(i)
