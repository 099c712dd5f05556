"""torch_geometric: graphs become larger every step (sorted by size); only the last one and its output are alive."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

torch.manual_seed(0)
torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = GCNConv(32, 32), GCNConv(32, 4)

    def forward(self, data):
        return self.b(self.a(data.x, data.edge_index).relu(), data.edge_index)


def graphs():
    for i in range(66):
        n = 200 + 60 * i
        yield Data(x=torch.randn(n, 32), edge_index=torch.randint(0, n, (2, 3 * n)), y=torch.randint(0, 4, (n,)))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for data in graphs():
    out = net(data)
    loss = torch.nn.functional.cross_entropy(out, data.y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("nodes", data.num_nodes, round(loss.item(), 3))
