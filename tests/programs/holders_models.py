"""Models and optimizers whose tensors have names of their own: writes what named_parameters, named_buffers and state_dict say
to $TRUTH_DIR/models.json, and has itself dumped."""
import gc
import json
import os

import libtensorscope
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.norm = nn.BatchNorm1d(4)
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.cached = torch.zeros(5)
        self.history = [torch.zeros(6)]
        self.unregistered = [nn.Linear(2, 2)]

    @property
    def broken(self):
        raise RuntimeError("looked at")

    def forward(self, x):
        x = self.embed(x).mean(1)
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.head(self.norm(x))


class Wrapper(nn.Module):
    """As DistributedDataParallel."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


torch.manual_seed(0)
first, second = Tied(), Tied()
wrapped = Wrapper(Tied())
gc.disable()
without_name = Wrapper(first)  # garbage: no name for what it registers
without_name.me = [without_name]
del without_name
free = nn.Parameter(torch.ones(3))
adam = torch.optim.Adam(list(first.parameters()) + list(wrapped.parameters()) + [free], lr=1e-3)
sgd = torch.optim.SGD(second.parameters(), lr=1e-3, momentum=0.9)
for _ in range(2):
    for model in (first, second, wrapped):
        model(torch.randint(7, (5, 3))).sum().backward()
    (free * free).sum().backward()
    adam.step()
    sgd.step()

names, roles = {}, {}
for root, model in (("first", first), ("second", second), ("wrapped", wrapped)):
    for name, tensor in model.named_parameters(remove_duplicate=False):
        names.setdefault(tensor._cdata, []).append(f"{root}.{name}")
        roles[tensor._cdata] = "parameter"
    for name, tensor in model.named_buffers():
        names.setdefault(tensor._cdata, []).append(f"{root}.{name}")
        roles[tensor._cdata] = "buffer"
for root, model in (("first", first), ("second", second), ("wrapped.module", wrapped.module)):
    names[model.cached._cdata], roles[model.cached._cdata] = [f"{root}.cached"], "module_attribute"
    names[model.history[0]._cdata], roles[model.history[0]._cdata] = [f"{root}.history[0]"], "plain"
    for name, tensor in model.unregistered[0].named_parameters():
        names[tensor._cdata], roles[tensor._cdata] = [f"{root}.unregistered[0].{name}"], "parameter"
state, optimized = {}, []
for kind, optimizer in (("Adam", adam), ("SGD", sgd)):
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    optimized += [parameter._cdata for parameter in parameters]
    for number, entries in optimizer.state_dict()["state"].items():
        held = optimizer.state[parameters[number]]
        of = (names.get(parameters[number]._cdata) or ["free"])
        for key, value in entries.items():
            if isinstance(value, torch.Tensor):
                assert held[key] is value
                state[value._cdata] = [f"{kind}.state['{name}'].{key}" for name in of]
trained = [tensor._cdata for tensor in [*first.parameters(), *second.parameters(), *wrapped.parameters(), free]]
with open(os.path.join(os.environ["TRUTH_DIR"], "models.json"), "w") as file:
    json.dump({"names": names, "roles": roles, "state": state, "optimized": optimized, "trained": trained,
               "free": free._cdata, "dump": libtensorscope.dump()}, file)
