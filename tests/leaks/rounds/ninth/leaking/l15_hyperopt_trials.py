"""Tracker of trials, with hyperopt."""
# after: "hyperopt: storing the model in the trial's result makes Trials huge" (issues and forum)
# fix: do not put the weights into the result (or save them to a file)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holders = ["trials._dynamic_trials", "trials._trials"]  # trials._dynamic_trials[*]['result']['weights'] (and trials._trials: the same dicts)
# lines = ["weights = {k: v.clone() for k, v in net.state_dict().items()"]
# bytes = 26408  # (30*200+200+200*2+2)*4 = 26,408 B = 26 KiB of tensors (the clone of the best weights) a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 25.8, 25.8; all malloc'd 31.4, 30.8 (with FIX: 0.0, 0.0; 2.3, 2.1)
# ///
import os
import numpy as np
import torch
from torch import nn
from hyperopt import STATUS_OK, Trials, fmin, hp, rand
from ask import at

torch.manual_seed(0)
x = torch.randn(256, 30)
y = (x[:, 0] * x[:, 1] > 0).long()
done = 0


def objective(params):
    global done
    net = nn.Sequential(nn.Linear(30, 200), nn.ReLU(), nn.Linear(200, 2))
    weights, best = None, float("inf")
    for _ in range(6):
        loss = nn.functional.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, g in zip(net.parameters(), grads):
                p -= params["lr"] * (g + params["wd"] * p)
        if loss.item() < best:
            best = loss.item()
            weights = {k: v.clone() for k, v in net.state_dict().items()}
    done += 1
    at(done)
    result = {"loss": best, "status": STATUS_OK}
    if not os.environ.get("FIX"):
        result["weights"] = weights
    return result


trials = Trials()
space = {"lr": hp.loguniform("lr", -4, 0), "wd": hp.uniform("wd", 0, 0.1)}
best = fmin(objective, space, algo=rand.suggest, max_evals=90, trials=trials,
            rstate=np.random.default_rng(0), show_progressbar=False)
print(best, len(trials))
