"""Objects of botorch/gpytorch in a list of dicts, two keys per entry hold the graph and the caches."""
# after: Bayesian optimisation keeps acquisition (with model) and values of each trial
# fix: values.detach(), no acquisition (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "loop.trials"  # loop.trials[*]['acquisition'] and ['values'] (both: the graph hangs on values; the model's caches on acquisition); correction: measured, values.detach() alone leaves 503,332 bytes a step, acquisition = None alone 456,763
# lines = ["values = acquisition(candidates)"]
# bytes = 540121  # 540,121 measured storages (Cholesky / covariance caches of 48x48 and of 64 candidates x 48 in float64, graph's saved tensors included); malloc 649,400 (upper end). With FIX 512 B (values) remain
# ///
import os
import warnings
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.models import SingleTaskGP
from ask import at

warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
train_x = torch.rand(48, 4)
train_y = torch.sin(3 * train_x).sum(1, keepdim=True)


class Loop:
    def __init__(self):
        self.trials = []

    def ask(self, i):
        model = SingleTaskGP(train_x, train_y).eval()
        acquisition = UpperConfidenceBound(model, beta=0.2)
        candidates = torch.rand(64, 1, 4)
        values = acquisition(candidates)
        best = candidates[values.argmax()].squeeze(0).detach()
        if os.environ.get("FIX"):
            values = values.detach()
            acquisition = None
        self.trials.append({"trial": i, "acquisition": acquisition, "values": values})
        return best


loop = Loop()
for i in range(1, 81):
    x = loop.ask(i)
    y = torch.sin(3 * x).sum()
    train_x = torch.cat([train_x[1:], x.view(1, -1)])
    train_y = torch.cat([train_y[1:], y.view(1, 1)])
    at(i)
print(train_y.max().item())
