"""Receivers of a signal, with Django."""
# after: "signal.connect(..., weak=False) in the view: receivers pile up" (Django issues and docs)
# fix: prediction_done.disconnect(scorer.on_done) at the end of the request (or weak=True)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "prediction_done.receivers"  # prediction_done.receivers (list; each entry has a bound method Scorer.on_done, whose object has prototypes)
# lines = ["self.prototypes = backbone(support + noise * torch.randn_lik"]
# bytes = 32000  # 100*80*4 = 31.25 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 31.2, 31.2; all malloc'd 33.1, 32.8 (with FIX: 0.0, 0.0; 0.7, 0.3)
# ///
import os
import torch
from torch import nn
from django.dispatch import Signal
from ask import at

torch.manual_seed(0)
prediction_done = Signal()
backbone = nn.Sequential(nn.Linear(50, 80), nn.Tanh()).eval()
support = torch.randn(100, 50)


class Scorer:
    def __init__(self, noise):
        with torch.no_grad():
            self.prototypes = backbone(support + noise * torch.randn_like(support))
        self.seen = 0
        prediction_done.connect(self.on_done, weak=False)

    def on_done(self, sender, **kwargs):
        if sender is self:
            self.seen += 1

    def predict(self, x):
        with torch.no_grad():
            distance = torch.cdist(backbone(x), self.prototypes)
        prediction_done.send(self, distance=distance.min().item())
        return distance.argmin(1)


for request in range(1, 121):
    scorer = Scorer(noise=0.01 * request)
    for _ in range(5):
        best = scorer.predict(torch.randn(64, 50))
    if os.environ.get("FIX"):
        prediction_done.disconnect(scorer.on_done)
    if request % 40 == 0:
        print(request, scorer.seen, len(prediction_done.receivers), flush=True)
    at(request)
