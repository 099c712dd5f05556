"""Programs whose optimizer's step has the peak: wide layers and little data."""
import torch
from torch import nn
from torch.nn import functional

from remedy_trial import program


class Wide(nn.Module):
    def __init__(self, width=1024, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = x + functional.gelu(layer(x))
        return x


def train(trial, model, optimizer, width=1024, steps=2):
    for _ in range(steps):
        x = torch.rand(trial.batch(16), width, device=trial.device)
        with trial.autocast():
            loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@program()
def wide_adam(trial):
    """Adam with weight decay, which makes a second list of temporaries"""
    model = trial.ready(Wide().to(trial.device))
    train(trial, model, trial.optimizer(torch.optim.Adam, model.parameters(), weight_decay=0.1))


@program()
def wide_momentum(trial):
    """SGD with momentum and weight decay"""
    model = trial.ready(Wide().to(trial.device))
    train(trial, model, trial.optimizer(torch.optim.SGD, model.parameters(), lr=1e-3, momentum=0.9, weight_decay=0.1))


@program()
def wide_rmsprop(trial):
    """RMSprop, for which torch has no fused kernel"""
    model = trial.ready(Wide().to(trial.device))
    train(trial, model, trial.optimizer(torch.optim.RMSprop, model.parameters(), lr=1e-4))


@program()
def one_parameter_at_a_time(trial):
    """AdamW with foreach=False: what is left to save are state and gradients"""
    model = trial.ready(Wide(1024, 3).to(trial.device))
    train(trial, model, trial.optimizer(torch.optim.AdamW, model.parameters(), foreach=False))


@program(settings={"RANK": "0", "WORLD_SIZE": "4"}, imports=("torch.testing._internal.distributed.fake_pg",))
def one_of_four_ranks(trial):
    """Adam in a job of four ranks, whose communication does nothing"""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    model = trial.ready(Wide(768, 12).to(trial.device))
    train(trial, model, trial.optimizer(torch.optim.Adam, model.parameters()), 768)
