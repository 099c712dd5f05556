"""A neighbour loader caches the subgraph of each batch of seeds; seeds are shuffled, so no batch ever comes again."""
# pyg-team/pytorch_geometric#3198: NeighborLoader PyG 2.0.1
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "_cache"
# lines = ["x = self.data[", "edge_index = ", "nodes = "]
# bytes = [50000, 90000]  # up to 32 + 32 x 10 nodes: their numbers, 16 floats each, their edges
# ///
import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    edge_index: torch.Tensor
    n_id: torch.Tensor


class NeighborLoader:
    def __init__(self, data, edges, batch_size=32):
        self.data, self.edges, self.batch_size = data, edges, batch_size
        self._cache = {}

    def __iter__(self):
        for seeds in torch.randperm(len(self.data)).split(self.batch_size):
            key = tuple(seeds.tolist())
            if key not in self._cache:
                self._cache[key] = self.sample(seeds)
            yield self._cache[key]

    def sample(self, seeds):
        edge_index = torch.stack([seeds.repeat_interleave(10), self.edges[seeds].flatten()])
        nodes = torch.cat([seeds, edge_index[1]])
        x = self.data[nodes]
        return Batch(x, edge_index, nodes)


loader = NeighborLoader(torch.randn(640, 32), torch.randint(640, (640, 10)))
model = nn.Linear(32, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for batch in loader:
        loss = model(batch.x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
