"""A graph's storage refers to the graph and the graph to its storage; the loop runs with the garbage collector switched off."""
# pyg-team/pytorch_geometric#5839: Memory leak during data loading
# /// leak
# dumps = "steps"
# kinds = ["reference-cycle"]
# holder = "Data"
# lines = ["x = features["]
# bytes = 12800  # 64 nodes of 32 floats with a label, 256 edges
# ///
import gc

import torch
from torch import nn


class GlobalStorage:
    def __init__(self, parent, **mapping):
        self._parent = parent
        self._mapping = mapping


class Data:
    def __init__(self, **mapping):
        self.__dict__["_store"] = GlobalStorage(self, **mapping)

    def __getattr__(self, name):
        return self._store._mapping[name]


def sample(features, labels):
    nodes = torch.randint(1000, (64,))
    x = features[nodes]
    return Data(x=x, y=labels[nodes], edge_index=torch.randint(64, (2, 256)))


gc.disable()
features, labels = torch.randn(1000, 32), torch.randint(4, (1000,))
model = nn.Linear(32, 4)
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    data = sample(features, labels)
    gathered = torch.zeros_like(data.x).index_add_(0, data.edge_index[1], data.x[data.edge_index[0]])
    loss = nn.functional.cross_entropy(model(gathered), data.y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
