"""A class variable collects the flattened state of each optimizer that is asked for its state dictionary."""
# pytorch/pytorch#96263: [FSDP][optim_state_dict] Fix a memory leakage in optim_state_dict
# /// leak
# dumps = "steps"
# kinds = ["module-cache"]
# holder = "FlatState.results"
# lines = ["flat = torch.cat("]
# bytes = 33280  # two moments of 64 x 64 + 64 floats
# ///
import torch
from torch import nn


class FlatState:
    results = []

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def gather(self):
        for name in ("exp_avg", "exp_avg_sq"):
            flat = torch.cat([state[name].flatten() for state in self.optimizer.state.values()])
            self.results.append((name, flat))
        return dict(self.results[-2:])


model = nn.Linear(64, 64)
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    loss = model(torch.randn(8, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    FlatState(optimizer).gather()
