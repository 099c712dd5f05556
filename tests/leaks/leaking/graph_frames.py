"""A graph object collects the messages of every forward pass under new names; nothing pops them."""
# dmlc/dgl#637: The GPU usage keep growing as the training is going, if graph is passed into the model every time
# dmlc/dgl#735: [Graph] add local scope function
# /// leak
# dumps = "steps"
# kinds = ["container", "accumulated-graph"]
# holder = "ndata"
# lines = ["graph.ndata[f", "message = "]
# bytes = [25600, 60000]  # 200 nodes x 32 floats: the layer's output, and what its graph keeps
# ///
import torch
from torch import nn


class Graph:
    def __init__(self, nodes):
        self.adjacency = (torch.rand(nodes, nodes) < 0.02).float()
        self.ndata = {"feat": torch.randn(nodes, 32)}
        self.scopes = 0


class GraphConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, graph):
        graph.scopes += 1
        message = graph.adjacency @ graph.ndata["feat"]
        graph.ndata[f"h{graph.scopes}"] = torch.relu(self.linear(message))
        return graph.ndata[f"h{graph.scopes}"]


graph = Graph(200)
conv = GraphConv()
optimizer = torch.optim.Adam(conv.parameters())
for epoch in range(60):
    loss = (conv(graph).mean(1) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
