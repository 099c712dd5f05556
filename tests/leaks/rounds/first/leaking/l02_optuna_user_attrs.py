"""Weights that are put into trial.set_user_attr() stay in the study's storage, which is in memory, for ever."""
# after: optuna/optuna: FAQ, how to save models; weights as a user attribute
# fix: keep the weights of the best trial only (a file or a callback), no user attribute
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "study._storage"
# lines = ["weights = {k: v.clone()"]
# bytes = 74784  # 256 x 64 floats and 256, 8 x 256 floats and 8; one step a trial
# ///
import optuna
import torch
from torch import nn

optuna.logging.set_verbosity(optuna.logging.ERROR)
torch.manual_seed(0)
x = torch.randn(256, 64)
y = torch.randint(0, 8, (256,))


def build():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    model = build()
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    trial.set_user_attr("weights", weights)
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x), y).item()


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
study.optimize(objective, n_trials=66)
print("best", study.best_value)
