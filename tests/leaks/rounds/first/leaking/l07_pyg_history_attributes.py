"""The embeddings of each step are put on the graph under a new attribute's name."""
# after: pyg-team/pytorch_geometric: attributes of a Data object
# fix: one attribute graph.hist overwritten each step
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "graph._store._mapping"
# lines = ["h = self.conv1(graph.x, graph.edge_index)"]
# bytes = 64000  # 500 x 32 floats
# ///
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(16, 32)
        self.head = nn.Linear(32, 4)

    def forward(self, graph, step):
        h = self.conv1(graph.x, graph.edge_index).relu()
        graph[f"hist_{step}"] = h.detach()
        return self.head(h)


graph = Data(x=torch.randn(500, 16), edge_index=torch.randint(0, 500, (2, 2000)), y=torch.randint(0, 4, (500,)))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(66):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(graph, step), graph.y)
    loss.backward()
    opt.step()
print("loss", loss.item(), len(graph.keys()))
