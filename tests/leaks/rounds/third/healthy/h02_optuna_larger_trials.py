"""optuna trials with models of growing width, each freed at the end of its trial; study keeps numbers only."""
# /// healthy
# dumps = "asks"
# ///
import optuna
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)
optuna.logging.set_verbosity(optuna.logging.ERROR)

state = {"step": 0}


def objective(trial):
    width = 32 + 8 * trial.number                       # a search that tries wider and wider nets
    lr = trial.suggest_float("lr", 1e-3, 1e-1, log=True)
    net = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 64))
    momentum = [torch.zeros_like(p) for p in net.parameters()]
    for _ in range(3):
        x = torch.randn(16, 64)
        loss = (net(x) - x).pow(2).mean()
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, m, g in zip(net.parameters(), momentum, grads):
                m.mul_(0.9).add_(g)
                p.sub_(lr * m)
    state["step"] += 1
    at(state["step"])
    return loss.item()


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
study.optimize(objective, n_trials=66)
print(round(study.best_value, 3))
