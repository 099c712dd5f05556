"""Persistent (immutable) data structure, with pyrsistent."""
# after: Redux-like state with time travel: every state is appended to a persistent vector for undo
# fix: past = pvector(past[-5:])
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["store.state", "'past'"]  # store.state (PMap)['past'] (PVector of PMaps)
# lines = ["weights = pack(net) * 1.0"]
# bytes = 12252  # 3,063 float32; storages
# ///
import os

import torch
import torch.nn as nn
from pyrsistent import pmap, pvector


class Store:
    def __init__(self):
        self.state = pmap({"step": 0, "params": None, "past": pvector()})

    def dispatch(self, kind, payload):
        past = self.state["past"].append(self.state.remove("past"))
        if os.environ.get("FIX"):
            past = pvector(past[-5:])
        self.state = self.state.update({"step": self.state["step"] + 1, kind: payload, "past": past})


def pack(module):
    return torch.nn.utils.parameters_to_vector(module.parameters()).detach()


torch.manual_seed(0)
store = Store()
net = nn.Sequential(nn.Linear(30, 90), nn.ReLU(), nn.Linear(90, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(70):
    x = torch.randn(40, 30)
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 3, (40,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    weights = pack(net) * 1.0
    store.dispatch("params", weights)
    if step % 20 == 0:
        print(step, loss.item(), len(store.state["past"]), flush=True)
