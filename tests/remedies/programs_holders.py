"""Loops that keep too much: what a list, a sum, a state, a cycle or an exception holds."""
import gc

import torch
from torch import nn
from torch.nn import functional

from remedy_trial import program


class Net(nn.Module):
    def __init__(self, width=256, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = functional.gelu(layer(x))
        return x


def batch(trial, size=4096, width=256):
    return torch.rand(trial.batch(size), width, device=trial.device)


@program()
def running_loss(trial):
    """total_loss += loss"""
    model = trial.ready(Net().to(trial.device))
    total_loss = 0
    for _ in range(8):
        loss = model(batch(trial)).square().mean()
        loss.backward(retain_graph=True)
        total_loss += loss.detach() if trial.tries("running-sum") else loss
    return total_loss


@program()
def recurrent_state(trial):
    """a GRU cell whose state is never detached"""
    cell = nn.GRUCell(256, 256).to(trial.device)
    hidden = torch.zeros(2048, 256, device=trial.device)
    for _ in range(12):
        if trial.tries("carried-state"):
            hidden = hidden.detach()
        hidden = cell(torch.rand(2048, 256, device=trial.device), hidden)
        loss = hidden.square().mean()
        loss.backward(retain_graph=True)


@program()
def cycles(trial):
    """objects in reference cycles hold tensors, while Python's garbage collector is off"""
    class Episode:
        pass

    gc.disable()
    try:
        for _ in range(8):
            episode = Episode()
            episode.itself = episode
            if trial.tries("collect-garbage"):
                gc.collect()
            episode.states = torch.rand(16 << 20, device=trial.device)
    finally:
        gc.enable()


@program()
def replay_buffer(trial):
    """a deque of transitions on the device"""
    import collections
    model = Net().to(trial.device)
    replay = collections.deque(maxlen=100)
    for _ in range(10):
        state = torch.rand(8 << 20, device=trial.device)
        replay.append(state.cpu() if trial.tries("drop-holder") else state)
    del state
    return model(batch(trial, 1 << 15))


@program()
def kept_exceptions(trial):
    """exceptions in a list keep their frames, and these keep activations"""
    model, errors = Net().to(trial.device), []

    def step(number):
        features = model(batch(trial))
        raise ValueError(f"step {number}: bad batch")

    for number in range(6):
        try:
            step(number)
        except ValueError as error:
            errors.append(str(error) if trial.tries("drop-holder") else error)
    return errors


@program()
def features_by_hook(trial):
    """a forward hook that keeps each output"""
    model, features = Net().to(trial.device), {}

    def keep(module, inputs, output):
        features.setdefault(id(module), []).append(output.detach().cpu() if trial.tries("drop-holder") else output)

    for layer in model.layers:
        layer.register_forward_hook(keep)
    for _ in range(5):
        model(batch(trial)).mean().backward()
    return features
