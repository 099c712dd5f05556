"""Bayesian optimisation with a model of its own per trial over a window of the last 40 observations (full from the start); the model, its caches and the acquisition's graph are dropped with the next trial. Trials are kept as floats."""
# library: botorch
# /// healthy
# dumps = "asks"
# ///
import warnings
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from ask import at

warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, trials = torch.rand(40, 3), []
y = torch.sin(4 * x).sum(1, keepdim=True)
for i in range(1, 81):
    model = SingleTaskGP(x, y).eval()
    acquisition = UpperConfidenceBound(model, beta=0.2)
    candidates = torch.rand(64, 1, 3)
    best = candidates[acquisition(candidates).argmax()].detach()
    x = torch.cat([x[1:], best])
    y = torch.cat([y[1:], torch.sin(4 * best).sum(1, keepdim=True)])
    trials.append((i, y[-1].item()))
    at(i)
print(max(t[1] for t in trials))
