"""Weak-key map."""
# after: Python FAQ/issue "WeakKeyDictionary does not free": the value refers to its key
# fix: the value keeps a weakref to the model; or finetuners.pop(model)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "finetuners"  # finetuners (WeakKeyDictionary: its values refer to their keys, finetuners[*].model)
# lines = ["loss.backward()", "self.opt.step()", "model = copy.deepcopy(base)"]
# bytes = 28464  # 2372 floats * 3: parameter, gradient, momentum
# ///
import copy
import os
import weakref
import torch
from torch import nn

torch.manual_seed(0)
finetuners = weakref.WeakKeyDictionary()  # freed with the model of a user, we thought


class FineTuner:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def fit(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


base = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))


def serve_user(x, y):
    model = copy.deepcopy(base)
    tuner = finetuners[model] = FineTuner(model)
    loss = tuner.fit(x, y)
    if os.environ.get("FIX"):
        finetuners.pop(model)
    return loss


for user in range(64):
    serve_user(torch.randn(32, 32), torch.randint(0, 4, (32,)))
print(len(finetuners))
